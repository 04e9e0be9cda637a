package release

import (
	"path"

	"golang.org/x/mod/semver"
)

// Path is the import path of the module at the root.
const Path = "github.com/kinglet-go/kinglet"

// Module is one release of a module that is tagged.
type Module struct {
	// Dir is its folder, "." for the root's.
	Dir string
	// Version is the next to be tagged. Modules that need this one require it.
	Version string
	// Kubernetes is the oldest version of the modules k8s.io/... that it requires.
	Kubernetes string
	// Line is "" for what the folder's own go.mod says. Another one is made from
	// the same folder, without the files in Without and with the requirements of
	// Kubernetes above.
	Line    string
	Without []string
	// Program is whether it is built and not imported: no module here requires it, and
	// its replace directives count, as long as they name versions.
	Program bool
}

// Modules are the next release of each, in the order in which they are tagged.
//
// cache has one line for each version of client-go that has another set of names,
// as client-go has: so it is as large as the client-go beside it, and none of its
// types is a copy where the original exists.
var Modules = []Module{
	{Dir: ".", Version: "v0.1.0", Kubernetes: "v0.34.0"},
	{Dir: "workqueue", Version: "v0.1.0", Kubernetes: "v0.34.0"},
	{Dir: "cache", Version: "v0.37.0", Kubernetes: "v0.37.0"},
	{Dir: "cache", Version: "v0.36.0", Kubernetes: "v0.36.0", Line: "0.36", Without: []string{"kubernetes037.go"}},
	{Dir: "ctrlruntime", Version: "v0.1.0", Kubernetes: "v0.36.0"},
	{Dir: "prometheus", Version: "v0.1.0", Kubernetes: "v0.34.0"},
	{Dir: "cluster", Version: "v0.1.0", Kubernetes: "v0.36.3", Program: true},
	{Dir: "kinglettest", Version: "v0.1.0", Kubernetes: "v0.37.2"},
	{Dir: "cmd/kinglet", Version: "v0.1.0", Kubernetes: "v0.37.2", Program: true},
}

// Path is the module's path.
func (m Module) Path() string { return path.Join(Path, m.Dir) }

// String is the module as "go get" is told of it.
func (m Module) String() string { return m.Path() + "@" + m.Version }

// Required is the newest module in a folder of those that others require: of
// several lines the first.
func Required(dir string) (Module, bool) {
	for _, m := range Modules {
		if m.Dir == dir {
			return m, true
		}
	}
	return Module{}, false
}

// RequiredOn is the newest module in a folder that is not of a newer Kubernetes than a
// module that requires it.
func RequiredOn(kubernetes, dir string) (Module, bool) {
	for _, m := range Modules {
		if m.Dir == dir && semver.Compare(m.Kubernetes, kubernetes) <= 0 {
			return m, true
		}
	}
	return Module{}, false
}
