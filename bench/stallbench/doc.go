// Command stallbench shows what one handler that stands still costs: it stalls
// a handler through a million events on a thousand keys and looks at what is
// pending for it, at the heap, and at the other two handlers; then it lets go
// and compares what the handler was told with the true history.
//
//	go run ./stallbench                  # three runs of each arm, two minutes
//	go run ./stallbench -events 100000 -runs 1
//	go run ./stallbench -json out.json
//
// It exits with 1 if a guarantee of kinglet's is violated: more than one record
// a key pending or more than one in flight, another handler that does not see
// the last event while the first stands, a history that is not legal, a delete
// of a delivered key that is not delivered, a final state that is not the
// source's. Delays and rates are printed and judged, but are no guarantee on a
// machine that does other things as well.
//
// Events come from memory, made as fast as they are taken, in batches of 256,
// and then at a steady rate, at which delays mean something: from the moment
// the source hands a batch over until a handler is called with the change. 2 %
// of the events are deletes; what is deleted is created again with another UID
// when its turn comes. client-go's SharedIndexInformer has the same history
// and the same handlers in the same run, fed through a watch.Interface.
//
// Each arm is measured in a process of its own (this program, started again),
// with and without the stalled neighbour. Heap is live heap after a collection.
// GOGC is at its default and no knob of the runtime is set.
package main
