package main

// A suite is a set of tests that was written for client-go's tools/cache.
type suite struct {
	name string
	// packages are import paths, or patterns that end in "/...".
	packages []string
	// outside is for client-go's own tests, which are in the package that they
	// test. They are cut to what compiles from outside of it.
	outside bool
}

// The order is that of the output: the shortest first.
var suites = []suite{
	{
		name:     "client-go/cache",
		packages: []string{clientGo},
		outside:  true,
	},
}

const (
	// clientGo is the import path that is swapped, kinglet the one it becomes.
	clientGo = "k8s.io/client-go/tools/cache"
	kinglet  = "github.com/kinglet-go/kinglet/cache"
)
