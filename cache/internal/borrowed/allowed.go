package main

import "strings"

const generated = "called by client-go's generated informers and listers, over kinglet's informer or indexer"

// allowed are the functions of client-go's that may run, and why. "Type.*" is
// every method of a type.
var allowed = map[string]string{
	"init": "the package's own start: what reflectors' callers are named by, and a variable of the environment",

	// Plain types that both packages share, so their methods are client-go's.
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
	"NewRetryWithDeadline":                "a helper: a time and a function, no state of an informer's",
	"retryWithDeadlineImpl.*":             "a helper: a time and a function, no state of an informer's",
	"VeryShortWatchError.*":               "an alias: an error",

	// The typed wrappers hold no state: they convert what passes through them
	// to and from the interfaces, behind which everything is kinglet's.
	"NewTypedSharedIndexInformer":              "a typed wrapper, over kinglet's informer or indexer",
	"typedSharedIndexInformer.*":               "a typed wrapper, over kinglet's informer or indexer",
	"typedIndexer.*":                           "a typed wrapper, over kinglet's informer or indexer",
	"typedResourceEventHandler.*":              "a typed wrapper, over kinglet's informer or indexer",
	"TypedIndexersToIndexers":                  "a typed wrapper, over kinglet's informer or indexer",
	"TypedIndexerFuncToIndexerFunc":            "a typed wrapper, over kinglet's informer or indexer",
	"DeletedObject.*":                          "an alias: a plain value or the program's functions",
	"TypedResourceEventHandlerFuncs.*":         "an alias: a plain value or the program's functions",
	"TypedResourceEventHandlerDetailedFuncs.*": "an alias: a plain value or the program's functions",
	"TypedFilteringResourceEventHandler.*":     "an alias: a plain value or the program's functions",

	// client-go's generated informers and listers import client-go's package
	// themselves. The suite makes them read kinglet's indexers.
	"ListAll":                    generated,
	"ListAllByNamespace":         generated,
	"MetaNamespaceIndexFunc":     generated,
	"NamespacedNameAsObjectName": generated,
	"NewObjectName":              generated,
	"SyncResult.*":               generated,
	"WaitFor":                    generated,

	// Adapters between functions with a context and without.
	"ToListerWithContext":  "a helper: calls the program's list or watch function",
	"ToWatcherWithContext": "a helper: calls the program's list or watch function",
	"listerWrapper.*":      "a helper: calls the program's list or watch function",
	"watcherWrapper.*":     "a helper: calls the program's list or watch function",

	// See shell.
	"DefaultWatchErrorHandler":                  shell,
	"NewReflectorWithOptions":                   shell,
	"Reflector.*":                               shell,
	"ToListerWatcherWithContext":                shell,
	"getExpectedGVKFromObject":                  shell,
	"handleAnyWatch":                            shell,
	"handleWatch":                               shell,
	"initialEventsEndBookmarkTicker.*":          shell,
	"isExpiredError":                            shell,
	"isTooLargeResourceVersionError":            shell,
	"isUnsupportedTableListObject":              shell,
	"isUnsupportedTableObject":                  shell,
	"isWatchErrorRetriable":                     shell,
	"newInitialEventsEndBookmarkTicker":         shell,
	"newInitialEventsEndBookmarkTickerInternal": shell,
	"noopTicker.*":                              shell,
}

// shell is why a Reflector's functions run: the type is client-go's, since its
// interfaces name it, and so are the methods that a program calls. Its watch
// is where kinglet's engine runs; the Reflector itself lists, watches and
// stores nothing. No line that stores an object of a watch may run; see
// storing.
const shell = "the Reflector shell around kinglet's engine"

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
