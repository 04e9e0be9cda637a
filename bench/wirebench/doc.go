// Command wirebench measures whole informers, from the bytes on the wire to
// the handler: kinglet and client-go on the same pods from the same server, in
// one run.
//
//	go run ./wirebench                          # everything, three runs of each
//	go run ./wirebench -quick -rows '^protobuf$'
//	go run ./wirebench -out figures.json -charts DIR
//	go run ./wirebench -cluster PATH            # a real control plane, see measureCluster
//	go run ./wirebench -profile DIR -runs 1 -rows '^json$'
//
// The work is package pods': 50,000 realistic pods, see there. The server is a
// process of its own (this program, started again, around package replay),
// which only sends what was encoded before. Each measurement is a process of
// its own, too: an informer with two indexes, by namespace and by node, and
// one handler, or ten, on whichever engine. Engines take turns in going first.
// GOGC is at its default and no knob of the runtime is set.
//
// Each process goes through up to four phases:
//
//	sync     from the start until every handler was told of every object
//	burst    two MODIFIED events for every key, as fast as they are taken, until
//	         every handler was told of the last version of every key
//	relist   the watch ends with 410 Expired, as all others do until somebody
//	         lists; nothing has changed in between; over with the first event
//	         after the list
//	relist   the same, and everything has changed
//
// Wall time is the clock's; CPU is the whole process's, user and system
// (getrusage), with what the collector does on other threads. Peak is VmHWM,
// cleared before each phase. Settled is RSS after two collections and
// FreeOSMemory, live heap is HeapAlloc then, less what it was before the
// informer. At the end of a row's first run the store is compared, object by
// object and with reflect.DeepEqual, with what client-go's own client and
// codec make of a list from the server.
//
// Throughput is given only where every event came to every handler, which is
// asked of kinglet by EveryVersion; the row "folding" shows it as it comes by
// default. CPU an event is per event that the server sent.
//
// "Reading only" is a client that reads the same bytes through the same
// transport and throws them away: no informer can cost less, and where it is
// not several times faster than an engine, it is the server that is measured.
//
// Rows, with the pods that they have for -pods 50000:
//
//	protobuf, json           50,000  all four phases, over plain HTTP/1.1
//	… TLS+HTTP/2             50,000  what most users have; JSON 20,000
//	… managedFields dropped  50,000  by SetTransform; by kinglet's own means
//	… own templates          20,000  no two pods of one template
//	… unique                 10,000  no content in common at all
//	… 10 handlers            20,000
//	… transform              20,000  a function that empties what pods share
//	unstructured             20,000  JSON
//	protobuf LIST            50,000  a list and a watch, not a watch-list
//	protobuf folding         20,000  handlers as they are by default
//	protobuf gathered …      20,000  a burst in writes of 64 KiB
//	protobuf N pods                  10,000 and 200,000, sync alone; the latter
//	                                 where that much memory is available
//
// All of it takes half an hour on two cores, most of which is client-go reading
// JSON; -quick less than a minute.
package main
