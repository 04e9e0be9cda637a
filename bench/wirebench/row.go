package main

import (
	"fmt"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// row is one setup at which both engines are measured, and what must come out.
type row struct {
	name  string
	setup setup
	// drain says that a client that only reads is measured too.
	drain bool
	// once says that one run is enough: nothing is asked of the row that
	// another is not asked.
	once    bool
	targets map[figure]target.Target
	// against names the row whose client-go the targets are about, if it is
	// not this one's.
	against string
}

// sizes are the numbers of pods that the rows are made for.
type sizes struct {
	main, middle, small, large int
}

// sizesOf are in proportion to that of the main rows.
func sizesOf(main int) sizes {
	return sizes{main: main, middle: main * 2 / 5, small: main / 5, large: main * 4}
}

// The rows' names, which begin with the encoding where there is one of each.
const (
	droppedRow      = " managedFields dropped"
	ownRow          = " own templates"
	uniqueRow       = " unique"
	gatheredRow     = " gathered"
	handlersRow     = " 10 handlers"
	transformRow    = " transform"
	unstructuredRow = "unstructured"
	metadataRow     = "metadata only"
	dropInRow       = "cache "
	sharedRow       = "protobuf shared connection"
)

// row names the one that differs by its transport.
func (t transport) row(name string) string { return name + " " + string(t) }

// growthRow names the row that differs from the first in its number of pods.
func growthRow(pods int) string { return fmt.Sprintf("protobuf %d pods", pods) }

// rows are all that there are, in the order in which they are measured: those
// of one server and encoding together.
func rows(n sizes) []row {
	var out []row
	for _, e := range []replay.Encoding{replay.Protobuf, replay.JSON} {
		out = append(out, encodingRows(e, n)...)
	}
	return append(out, otherRows(n)...)
}

// rowOf is one that differs from others in what change does.
func rowOf(name string, e replay.Encoding, count int, change func(*row), targets ...map[figure]target.Target) row {
	r := row{name: name, targets: merge(targets...), setup: setup{
		Pods: pods.Options{Pods: count}, Encoding: e, Transport: http1, Form: typed, Shape: whole, Handlers: 1, Rounds: 2,
	}}
	change(&r)
	return r
}

// encodingRows are those that there are of each encoding of whole pods.
func encodingRows(e replay.Encoding, n sizes) []row {
	name := string(e)
	return []row{
		rowOf(name, e, n.main, func(r *row) {
			r.setup.Relist, r.drain = true, true
		}, heapTargets, syncTargets[e], eventTargets[e][http1], relistTargets),
		rowOf(http2.row(name), e, n.main, func(r *row) {
			r.setup.Transport, r.drain = http2, true
		}, eventTargets[e][http2]),
		rowOf(name+gatheredRow, e, n.main, func(r *row) {
			r.setup.Gathered, r.drain = true, true
		}, eventTargets[e][http1], rateTargets[e]),
		rowOf(name+droppedRow, e, n.main, func(r *row) {
			r.setup.Shape, r.setup.Rounds, r.against = dropped, 0, name
		}, droppedTargets),
		rowOf(name+ownRow, e, n.main, func(r *row) {
			r.setup.Pods.Templates, r.setup.Rounds = n.main, 0
		}, ownTargets),
		rowOf(name+uniqueRow, e, n.main, func(r *row) { r.setup.Pods.Unique = true }, uniqueTargets),
		rowOf(http2.row(name+gatheredRow), e, n.middle, func(r *row) {
			r.setup.Transport, r.setup.Gathered, r.drain, r.once = http2, true, true, true
		}, eventTargets[e][http2]),
		rowOf(name+handlersRow, e, n.middle, func(r *row) { r.setup.Handlers, r.once = 10, true }),
		rowOf(name+transformRow, e, n.middle, func(r *row) { r.setup.Shape, r.once = transformed, true }),
	}
}

// otherRows are those that there are once.
func otherRows(n sizes) []row {
	out := []row{
		rowOf(unstructuredRow, replay.JSON, n.middle, func(r *row) { r.setup.Form = unstructured }, untypedTargets),
		rowOf(sharedRow, replay.Protobuf, n.main, func(r *row) { r.setup.SharedConnection, r.once = true, true }),
		rowOf("protobuf LIST", replay.Protobuf, n.main, func(r *row) {
			r.setup.Lists, r.setup.Rounds, r.once = true, 0, true
		}, syncTargets[replay.Protobuf]),
		dropIn(rowOf(string(replay.Protobuf), replay.Protobuf, n.main, func(r *row) { r.setup.Relist = true },
			heapTargets, syncTargets[replay.Protobuf], eventTargets[replay.Protobuf][http1], relistTargets)),
		dropIn(rowOf(string(replay.JSON), replay.JSON, n.main, func(r *row) { r.setup.Relist = true },
			heapTargets, syncTargets[replay.JSON], eventTargets[replay.JSON][http1], relistTargets)),
		dropIn(rowOf(string(replay.Protobuf)+gatheredRow, replay.Protobuf, n.main, func(r *row) { r.setup.Gathered = true },
			eventTargets[replay.Protobuf][http1], rateTargets[replay.Protobuf])),
		dropIn(rowOf(unstructuredRow, replay.JSON, n.middle, func(r *row) { r.setup.Form = unstructured }, untypedTargets)),
		rowOf("protobuf folding", replay.Protobuf, n.middle, func(r *row) { r.setup.Folding, r.once = true, true }),
		rowOf(metadataRow, replay.Metadata, n.main, func(r *row) { r.setup.Form, r.once = metadataOnly, true }),
	}
	for _, count := range []int{n.small, n.large} {
		out = append(out, rowOf(growthRow(count), replay.Protobuf, count, func(r *row) { r.setup.Rounds, r.once = 0, true }))
	}
	return out
}

// dropIn makes a row one of package cache, of which the same is asked: with
// client-go's interfaces in between, what is promised has to hold too. One run
// shows whether it does.
func dropIn(r row) row {
	r.name, r.setup.DropIn, r.once = dropInRow+r.name, true, true
	return r
}
