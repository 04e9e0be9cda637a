// Command ctrlbench measures a manager of controller-runtime with its own cache, and
// the same manager with ctrlruntime.NewCache and NewClient, in one run. It prints
// medians, ratios, and whether each target is met.
//
//	go run ./ctrlbench                  # everything, three runs of each row
//	go run ./ctrlbench -quick           # one short run of each row
//	go run ./ctrlbench -only reads,manager -runs 5
//	go run ./ctrlbench -json out.json
//
// The server has 100,000 realistic pods in 300 namespaces: see package pods. It is a
// process of its own around package replay, as in wirebench. Each row of each side is
// measured in a process of its own; sides take turns in going first. GOGC is at its
// default and no knob of the runtime is set. Objects come in protobuf, which is
// controller-runtime's default for such kinds.
//
// # Rows
//
//	reads           Get and List through the manager's client, on one goroutine, and a
//	                view's Get beside a Get of the client. Times are CPU of the whole
//	                process, with what the collector does for the copies. Pods are read
//	                in random order.
//	contention      16 workers list all pods through the client, without deep copies,
//	                while one writer updates the informer's store a thousand times a
//	                second: see package contention.
//	manager         from NewManager until a handler has been told of all pods, then two
//	                MODIFIED events of each, all of which reach the handler. The
//	                informer has the index by namespace and one by node. Live heap is
//	                HeapAlloc after two collections, less what it was before.
//	manager-http2   the same over TLS and HTTP/2
//	forms           a typed informer, and then one of metadata of the same pods
//	namespaces      the same start, with each of the 300 namespaces named in
//	                cache.Options, over TLS and HTTP/2. Goroutines are counted when the
//	                handler has been told of all pods; those that net/http has for each
//	                stream are counted apart.
//
//	lag             a reconciler writes a pod and reads it, on a server whose watches are
//	                200 ms late: from the write's answer until the read has returned
//	                what was written. controller-runtime's client has
//	                EnableReadYourWritesConsistency here.
//
// -profile writes a CPU profile of each process.
package main
