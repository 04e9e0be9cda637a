// Command idlebench measures what an informer costs that has nothing to do:
// goroutines, live heap, stacks and resident memory of a thousand of them over
// TLS and HTTP/2, less what a thousand bare watch streams cost, for kinglet
// and for client-go.
//
//	go run ./idlebench                   # three runs of each, two minutes
//	go run ./idlebench -n 200 -runs 1
//	go run ./idlebench -objects 0        # empty collections
//	go run ./idlebench -json out.json
//	go run ./idlebench -profile DIR      # where it goes; see below
//
// The server is a process of its own: this program, started again. It answers
// LIST, WATCH and WATCH with sendInitialEvents in protobuf as apimachinery
// encodes it, one collection a namespace, and allows 100 streams a connection,
// as kube-apiserver does by default. Each measurement is a process of its own
// as well, so that none inherits another's heap, and all of them are the same
// program with the same rest client:
//
//	streams    Request.Stream for each namespace, and a goroutine blocked in Read
//	kinglet    an Informer of *corev1.ConfigMap, two indexes, one handler
//	client-go  a SharedIndexInformer with the same
//	objects    nothing but the objects, decoded by apimachinery
//	nothing    the process, to be subtracted from the line above
//
// When everybody has synced, every stream gets one bookmark, since the stack
// of a watch that has never had one is not that of a watch that lives. After
// -settle, and after two collections and FreeOSMemory, the figures are taken.
// GOGC is at its default and no knob of the runtime is set.
//
// "Memory" is live heap plus stacks in use (MemStats.HeapAlloc + StackInuse);
// what the spans of the heap take with their gaps (HeapInuse) and what the
// system says (RSS) stand beside it.
//
// The objects are in an informer's figures, and on a line of their own; what
// is judged is what an informer takes beyond its stream and its objects.
//
// Stacks in use are counted by the runtime in spans of 32 KiB, gaps included:
// that a thousand requests begin at once, and with them hundreds of TLS
// handshakes on stacks of 16 KiB that end again, leaves gaps, so that the same
// goroutines with the same stacks come to a few KiB more or less each time.
//
// -profile writes heap and goroutine profiles of the kinglet process, with
// every allocation sampled, which is why its figures are not to be quoted.
package main
