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
// Interrupted, it prints and writes what it has.
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
// informer. At the end of a row's first run kinglet's store is compared, object
// by object and with reflect.DeepEqual, with what client-go's own client and
// codec make of a list from the server.
//
// # What is asked of kinglet, and of client-go
//
// Throughput is given only where every event came to every handler, which is
// asked of kinglet by EveryVersion; the row "folding" shows it as it comes by
// default. CPU an event is per event that the server sent.
//
// Over plain HTTP/1.1, kinglet's source has OwnConnection: a connection to
// itself, read 128 KiB at a time. client-go has no such option. Here it has
// the connection to itself all the same, but reads 4 KiB at a time. The row
// "shared connection" is kinglet without the option, and so is every row over
// TLS and HTTP/2.
//
// In the rows "cache …" it is package cache that stands in kinglet's place: the
// program that client-go runs, with the import changed. ListWatches are made
// from a REST client; unstructured ones of closures over a dynamic client, with
// source.WrapTransport in its configuration. The same is asked of them as of
// the rows without "cache", though they have no connection of their own: the
// drop-in reads 4 KiB at a time, as client-go does. Every event comes to every
// handler without an option.
//
// managedFields are dropped by kinglet's source.Options.Drop, and by client-go's
// SetTransform beside it. What has to be shown, though, is a part of what
// client-go takes as it is: of the row that drops nothing. Other transforms
// are source.Map and SetTransform, with the same function.
//
// # The server is not what is measured
//
// "Reading only" is a client that reads the same bytes through the same
// transport and throws them away: no informer can cost less, and where it is
// not several times faster than an engine, it is the server that is measured.
// That is so for kinglet where events come one by one, each in a write of its
// own. So events a second are asked of the gathered rows, where the server
// writes 64 KiB at a time, and CPU an event of both.
//
// # Rows
//
// With the pods that they have for -pods 50000, and their runs for -runs 3:
//
//	protobuf, json           50,000  3  all four phases, over plain HTTP/1.1
//	… TLS+HTTP/2             50,000  3  what most users have
//	… gathered               50,000  3  a burst in writes of 64 KiB
//	… managedFields dropped  50,000  3  sync alone
//	… own templates          50,000  3  sync alone, no two pods of one template
//	… unique                 50,000  3  no content in common at all
//	unstructured             20,000  3  JSON
//	… gathered TLS+HTTP/2    20,000  1
//	… 10 handlers            20,000  1
//	… transform              20,000  1  a function that empties what pods share
//	protobuf shared connection 50,000 1 kinglet's connection out of the pool
//	protobuf LIST            50,000  1  a list and a watch, not a watch-list
//	protobuf folding         20,000  1  handlers as they are by default
//	cache protobuf, cache json 50,000 1 package cache in kinglet's place
//	cache protobuf gathered  50,000  1  the same
//	cache unstructured       20,000  1  the same, through a dynamic client
//	metadata only            50,000  1  PartialObjectMetadata, protobuf
//	protobuf N pods                  1  10,000 and 200,000, sync alone; the
//	                                    latter where there is memory for it
//
// The report ends with a summary: each line of what is promised of the wire
// path, its figure, its target, and whether it was met.
//
// All of it takes 35 minutes on two cores, most of which is client-go
// reading JSON; -quick less than a minute.
package main
