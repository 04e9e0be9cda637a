package prometheus

// ofInformer are the labels of all metrics of an informer.
var ofInformer = []string{"informer", "group", "version", "resource"}

func (l *list) ofInformer(detailed bool, kind, name, help string, more ...string) *family {
	return l.define(detailed, kind, "informer_"+name, help, append(ofInformer[:len(ofInformer):len(ofInformer)], more...)...)
}

type informerFamilies struct {
	problem, phase, synced, degraded              *family
	lastContact, lastEvent                        *family
	objects, version, quarantined                 *family
	lists, watches, errors, events, bookmarks     *family
	bytes, failures, readPath                     *family
	ownWrites, ownWritesOldest, ownWritesResult   *family
	checks, differences, mutations                *family
	requests, duplicates, unreadable, restores    *family
	received, remaining, bookmarkInterval         *family
	compared, checkRelists, checkSweeps, lastSeen *family
	storeBytes, indexValues, indexEntries         *family
	indexLargest                                  *family
}

func (l *list) informers() (f informerFamilies) {
	f.problem = l.ofInformer(base, gauge, "problem_start_timestamp_seconds",
		"What is wrong with an informer, and since when (0 if that is not known): no series, no problem. Severity broken means that reads are older than they should be, warning that something costs or will cost, note that nothing is lost. The informer's page says what to do about each cause.",
		"cause", "severity")
	f.phase = l.ofInformer(base, gauge, "phase_start_timestamp_seconds",
		"When the informer came into the phase that it is in; it has one series. In good order it is Watching. BackingOff for long: look at the problem and at the errors by code.", "phase")
	f.synced = l.ofInformer(base, gauge, "synced",
		"1 once the first list is in the store. While 0, reads miss objects: look at the errors by code.")
	f.degraded = l.ofInformer(base, gauge, "degraded",
		"1 while the store may differ from the server until the list that is under way has come. If it stays 1, lists fail: look at the errors of verb list.")
	f.lastContact = l.ofInformer(base, gauge, "last_contact_timestamp_seconds",
		"When the server was last heard of: a page, an event or a bookmark. Servers send a bookmark about each minute, so that more than three minutes mean a dead connection or server.")
	f.lastEvent = l.ofInformer(base, gauge, "last_event_timestamp_seconds",
		"When the last event came that was no bookmark. A quiet resource has none for long.")
	f.objects = l.ofInformer(base, gauge, "objects",
		"Objects in the store.")
	f.version = l.ofInformer(base, gauge, "resource_version",
		"The server's resource version that the store has come to; no series where it is no number. Compare replicas by it: one that falls behind lags.")
	f.quarantined = l.ofInformer(base, gauge, "quarantined",
		"Keys whose latest version could not be stored: reads show the version before, or none. The informer's page names them and why.")
	f.lists = l.ofInformer(base, counter, "lists_total",
		"Lists, and watches with initial events, that were begun, by cause. Each but the first costs the server a full read: many of cause expired mean slow watches or a server that compacts early; of cause refused, restored or repair, a server or proxy that does not behave.", "cause")
	f.watches = l.ofInformer(base, counter, "watches_total",
		"Watches that have ended, by how. In good order they end as timeout, every 5 to 10 minutes. Many broken or silent ones: look at load balancers, proxies and the network.", "end")
	f.errors = l.ofInformer(base, counter, "errors_total",
		"Requests that failed. 401 and 403: renew credentials, or grant list and watch. 404: the resource is not served. 429: raise the server's limits for this client. network: look at the way to the server. decode: objects that do not fit the type.",
		"verb", "code")
	f.events = l.ofInformer(base, counter, "events_total",
		"Events of watches, by type. A flood of modified ones is a writer that writes too often.", "type")
	f.bookmarks = l.ofInformer(base, counter, "bookmarks_total",
		"Bookmarks received. Without any, a dead connection is found late, and a watch that breaks off may have to list again.")
	f.bytes = l.ofInformer(base, counter, "received_bytes_total",
		"Bytes of answers, as they were read by the decoder.")
	f.failures = l.ofInformer(base, counter, "failures_total",
		"Versions of objects that could not be stored, by the stage that refused them. decode: the type does not fit the server's. transform, key, index: the program's own functions failed.", "stage")
	f.readPath = l.ofInformer(base, gauge, "read_path_info",
		"Always 1; its labels say how objects are read, and if not by kinglet's own decoder, why: that costs more CPU and memory. A reason other than not_asked or sharing_disabled was not chosen by the program.",
		"path", "reason")
	f.ownWrites = l.ofInformer(base, gauge, "own_writes",
		"The program's own writes that reads include and the watch has not shown yet. If it grows, the watch lags.")
	f.ownWritesOldest = l.ofInformer(detailed, gauge, "own_writes_oldest_timestamp_seconds",
		"When the oldest of those writes was recorded.")
	f.ownWritesResult = l.ofInformer(detailed, counter, "own_writes_total",
		"Own writes by what became of them. Expired and dropped ones were never confirmed by the watch: somebody else overwrote them, or the watch lags by minutes.", "result")
	f.checks = l.ofInformer(detailed, counter, "consistency_checks_total",
		"Consistency checks by result. If all are not_checked, the last one's reason is on the informer's page.", "result")
	f.differences = l.ofInformer(base, counter, "consistency_differences_total",
		"Differences between store and server that consistency checks found. Each is a lost update, by a server, a proxy or kinglet: please report it.")
	f.mutations = l.ofInformer(base, counter, "mutations_total",
		"Objects of the store in which somebody wrote. It is a bug of the program: copy an object before you change it. The error has the field.")
	f.requests = l.ofInformer(detailed, counter, "requests_total",
		"Requests by verb. A list of many pages is as many requests; probe asks for one object, for the server's version.", "verb")
	f.duplicates = l.ofInformer(detailed, counter, "duplicates_total",
		"Events that changed nothing.")
	f.unreadable = l.ofInformer(detailed, counter, "unreadable_total",
		"Items whose identity could not be read. Each leads to a list of cause repair.")
	f.restores = l.ofInformer(detailed, counter, "restores_total",
		"How often the server was found to be restored from a backup, or to number anew.")
	f.received = l.ofInformer(detailed, gauge, "list_received_objects",
		"Objects received of the list under way.")
	f.remaining = l.ofInformer(detailed, gauge, "list_remaining_objects",
		"The server's estimate of how many objects of the list under way are to come; 0 if unknown.")
	f.bookmarkInterval = l.ofInformer(detailed, gauge, "bookmark_interval_seconds",
		"The pace of the server's bookmarks; 0 until it is known. A watch that is silent for three times as long is given up.")
	f.compared = l.ofInformer(detailed, counter, "consistency_compared_objects_total",
		"Objects that consistency checks compared with the server's.")
	f.checkSweeps = l.ofInformer(detailed, counter, "consistency_sweeps_total",
		"How often consistency checks came to the end of the collection.")
	f.checkRelists = l.ofInformer(detailed, counter, "consistency_relists_total",
		"Lists because of differences that consistency checks found.")
	f.lastSeen = l.ofInformer(detailed, gauge, "consistency_last_check_timestamp_seconds",
		"When the last consistency check ended.")
	f.storeBytes = l.ofInformer(detailed, gauge, "store_bytes",
		"Estimate of the store's memory by part: objects (those that are shared are divided among those that share them), keys, and each index. To save memory, drop fields (kinglet.Options) or indexes.",
		"part", "index")
	f.indexValues = l.ofInformer(detailed, gauge, "index_values",
		"Values of an index.", "index")
	f.indexEntries = l.ofInformer(detailed, gauge, "index_entries",
		"Entries of an index: each object as often as it has values.", "index")
	f.indexLargest = l.ofInformer(detailed, gauge, "index_largest_objects",
		"Objects below the value of an index that has most. If it is near the number of objects, the index does not help.", "index")
	return f
}

type handlerFamilies struct {
	synced, pending, oldest, call      *family
	ended, panics                      *family
	inFlight, duration, changes, folds *family
}

func (l *list) handlers() (f handlerFamilies) {
	of := func(detailed bool, kind, name, help string, more ...string) *family {
		labels := append(ofInformer[:len(ofInformer):len(ofInformer)], "handler")
		return l.define(detailed, kind, "handler_"+name, help, append(labels, more...)...)
	}
	f.synced = of(detailed, gauge, "synced",
		"1 once the handler has handled its initial list.")
	f.pending = of(base, gauge, "pending",
		"Changes and objects of the initial list that wait for the handler. If it grows, the handler is too slow: look at its calls. What waits for long is folded: one change a key.")
	f.oldest = of(base, gauge, "oldest_pending_timestamp_seconds",
		"Since when the oldest of them has waited; no series if none waits.")
	f.call = of(base, gauge, "call_start_timestamp_seconds",
		"When the handler's call under way began; no series if there is none. If it is old, the handler stands still: the informer's page has its stack.")
	f.ended = of(detailed, gauge, "ended",
		"1 if the registration has ended with an error, which the informer's page has.")
	f.panics = of(base, counter, "panics_total",
		"Panics of the handler that were recovered: a bug of the program. The error that was reported has the stack.")
	f.inFlight = of(detailed, gauge, "in_flight",
		"Changes that the call under way is about.")
	f.duration = of(detailed, histo, "call_duration_seconds",
		"How long the handler's calls took.")
	f.changes = of(detailed, counter, "changes_total",
		"Changes delivered, by reason. Many of reason relist or resync are floods: look at the lists by cause, or ask for fewer resyncs.", "reason")
	f.folds = of(detailed, counter, "folded_total",
		"Changes that were delivered as part of a later one, since the handler was behind.")
	return f
}

type sharingFamilies struct {
	bytes, maxBytes, values, hits, misses *family
}

func (l *list) sharings() (f sharingFamilies) {
	of := func(kind, name, help string) *family {
		return l.define(detailed, kind, "sharing_"+name, help, "sharing")
	}
	f.bytes = of(gauge, "bytes",
		"What the values and strings take that objects share. Informers of a program share one table, unless they were given one of their own; the label numbers it.")
	f.maxBytes = of(gauge, "max_bytes",
		"How large a table of shared values may get. If it is reached, less is shared: raise it (source.SetDefaultSharing).")
	f.values = of(gauge, "values",
		"Values that are shared.")
	f.hits = of(counter, "hits_total",
		"Lookups that found a value to share.")
	f.misses = of(counter, "misses_total",
		"Lookups that found none.")
	return f
}
