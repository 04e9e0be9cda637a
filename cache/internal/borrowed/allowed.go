package main

import "strings"

// allowed are the functions of client-go's that may run, and why. "Type.*" is
// every method of a type.
var allowed = map[string]string{
	"init": "the package's own start: what reflectors' callers are named by, and a variable of the environment",

	// Plain types that values of both packages are, so their methods are
	// client-go's.
	"KeyError.*":                          "an alias: an error",
	"ObjectName.*":                        "an alias: two strings",
	"Deltas.*":                            "an alias: a slice",
	"TransactionError.*":                  "an alias: an error",
	"TTLPolicy.*":                         "an alias: compares a time with another",
	"ResourceEventHandlerFuncs.*":         "an alias: calls the program's functions",
	"ResourceEventHandlerDetailedFuncs.*": "an alias: calls the program's functions",
	"FilteringResourceEventHandler.*":     "an alias: calls the program's functions",
	"InformerNameAndResource.*":           "an alias: a name",
	"InformerName.*":                      "an alias: a name, unique in the process",
	"NewInformerName":                     "names are unique in the process, whoever's the informer",
	"SetInformerMetricsProvider":          "passed on, for informers of client-go's in the same program",
	"VeryShortWatchError.*":               "an alias: an error",
}

// reasonFor returns why a function may run.
func reasonFor(name string) (string, bool) {
	if why, ok := allowed[name]; ok {
		return why, true
	}
	typ, _, method := strings.Cut(name, ".")
	if !method {
		return "", false
	}
	why, ok := allowed[typ+".*"]
	return why, ok
}
