// Command storebench measures kinglet's store against client-go's Indexer, in
// one run, both engines alternating, and prints medians, ratios and whether
// each target is met.
//
//	go run ./storebench                 # everything, under ten minutes
//	go run ./storebench -quick          # one short run of each row
//	go run ./storebench -only get-hot,contention -runs 5
//	go run ./storebench -json out.json
//
// Times of single operations are CPU time of the thread that makes them, so
// that a busy machine disturbs them less; those under contention are the
// clock's.
//
// Every figure is measured in a process of its own (this program, started
// again), so that no row inherits another's heap. GOGC is at its default, and
// no memory limit or other knob of the runtime is set; garbage is collected
// before a measurement begins. Objects that are written are fresh ones, made
// before the clock starts. Both engines have the same two index functions'
// results, namespace and node, and are filled in key order, as a LIST comes.
package main
