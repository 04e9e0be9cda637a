package prometheus

// clientGoFamilies have the names of client-go's metrics, as component-base and
// controller-runtime have them.
type clientGoFamilies struct {
	list
	depth, adds, retries, unfinished, longest *family
	waits, runs                               *family

	lists, watches, shortWatches, lastVersion              *family
	listDuration, itemsInList, watchDuration, itemsInWatch *family

	queuedItems, storeVersion, latency *family
}

func newClientGoFamilies() (f clientGoFamilies) {
	l := list{enabled: [...]bool{base: true, detailed: true}}
	queue := func(k kind, name, help string) *family { return l.define(base, k, "workqueue_"+name, help, "name") }
	f.depth = queue(gauge, "depth", "Current depth of workqueue.")
	f.adds = queue(counter, "adds_total", "Total number of adds handled by workqueue.")
	f.waits = queue(histogram, "queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested.")
	f.runs = queue(histogram, "work_duration_seconds", "How long in seconds processing an item from workqueue takes.")
	f.unfinished = queue(gauge, "unfinished_work_seconds", "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads.")
	f.longest = queue(gauge, "longest_running_processor_seconds", "How many seconds the longest running processor for workqueue has been running.")
	f.retries = queue(counter, "retries_total", "Total number of retries handled by workqueue.")

	reflector := func(k kind, name, help string) *family { return l.define(base, k, "reflector_"+name, help, "name") }
	f.lists = reflector(counter, "lists_total", "Total number of API lists done by the reflectors.")
	f.listDuration = reflector(summary, "list_duration_seconds", "How long an API list takes to return and decode for the reflectors.")
	f.itemsInList = reflector(summary, "items_per_list", "How many items an API list returns to the reflectors.")
	f.watches = reflector(counter, "watches_total", "Total number of API watches done by the reflectors.")
	f.shortWatches = reflector(counter, "short_watches_total", "Total number of short API watches done by the reflectors.")
	f.watchDuration = reflector(summary, "watch_duration_seconds", "How long an API watch takes to return and decode for the reflectors.")
	f.itemsInWatch = reflector(summary, "items_per_watch", "How many items an API watch returns to the reflectors.")
	f.lastVersion = reflector(gauge, "last_resource_version", "Last resource version seen for the reflectors.")

	informer := func(k kind, name, help string) *family {
		return l.define(base, k, "informer_"+name, help, "name", "group", "version", "resource")
	}
	f.queuedItems = informer(gauge, "queued_items", "Number of items currently queued in the FIFO.")
	f.latency = informer(histogram, "processing_latency_seconds", "Time taken to process events after popping from the queue.")
	f.storeVersion = informer(gauge, "store_resource_version", "The 15 least significant digits of the resource version of the store.")
	f.list = l
	return f
}
