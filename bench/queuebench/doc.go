// Command queuebench measures work queues beside each other, in one run:
// client-go's, controller-runtime's priority queue, kinglet's drop-in package
// workqueue, and the engine under it. It prints medians and whether each target
// is met.
//
//	go run ./queuebench                  # three runs of each row, four minutes
//	go run ./queuebench -quick           # one short run of each row
//	go run ./queuebench -only cycle -runs 9
//	go run ./queuebench -json out.json
//
// Times are CPU time of the whole process, since controller-runtime's queue works
// in goroutines of its own, and since a busy machine disturbs it less than the
// clock's. Every figure is measured in a process of its own (this program, started
// again). GOGC is at its default and no knob of the runtime is set. Keys are
// types.NamespacedName, as a controller has them.
//
// Rows:
//
//   - cycle: 1,000 keys are added, then each is got and done, again and again, by
//     one goroutine. Bytes are those allocated.
//   - adds: 16 goroutines add keys that are not in the queue.
//   - busy: 16 goroutines add the same keys over and over, while 4 workers get
//     them and are done with them.
//   - waiting: keys are added with a delay. Bytes are the live heap that the
//     queue adds to the keys' own strings.
//   - restart: an initial list of 100,000 keys, runs of a millisecond on eight workers,
//     and a live change each 5 ms until all initial keys are served. The engine's
//     initial keys yield by 30 s, controller-runtime's have its low priority.
package main
