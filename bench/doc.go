// Command bench measures kinglet beside client-go and controller-runtime, in one run. It
// prints medians, ratios to the first engine of a row, and which targets are short.
//
//	go run .                             # every row, three runs of each: two hours
//	go run . -quick                      # a look, no figures to be quoted
//	go run . -list                       # the names of the rows
//	go run . -rows '^store/|^queue/' -runs 5
//	go run . -rows '^wire/protobuf$' -profile DIR -runs 1
//	go run . -json figures.json
//
// Interrupted, it prints and writes what it has.
//
// # How it measures
//
// Each engine of each row is measured in a process of its own (this program, started
// again), so that none inherits another's heap; engines take turns in going first. GOGC is
// at its default and no knob of the runtime is set. Servers are processes of their own as
// well: package replay only sends what it has encoded before. "Reading only" reads the
// same bytes and throws them away: no informer can cost less, and where it is not several
// times faster than an engine, the server is what is measured.
//
// CPU is the whole process's, user and system (getrusage), with what the collector does on
// other threads; for single operations of a store it is the thread's. Peak is VmHWM,
// cleared before each phase. Settled is RSS after two collections and FreeOSMemory; live
// heap is HeapAlloc then, less what it was before. At the end of a row's first run the
// store is compared, object by object and with reflect.DeepEqual, with what client-go's
// client and codec make of a list from the server.
//
// # Rows
//
//	rates/…    so many informers, each sent so many events a second at random times, as
//	           clusters have them: where waking up costs more than decoding
//	wire/…     whole informers, from the bytes on the wire to the handler: see phases.
//	           Package pods has the work: 50,000 realistic pods
//	store/…    single operations of a store, and writes beside readers
//	queue/…    work queues
//	manager/…  a manager of controller-runtime, with its own cache and with ctrlruntime's
//	idle       an informer that has nothing to do, beyond a bare watch
//	stalled    a handler that does not return
//	control plane  pods of a real one under churn, with -cluster
//
// The drop-in is the program that client-go is measured with, with one import changed.
// kinglet's and the drop-in's watches move to connections of their own when they are busy, as
// they do by default where the client's configuration is known.
package main
