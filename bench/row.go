package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// The engines' names, as they are printed.
const (
	clientGo = "client-go"
	runtimes = "controller-runtime"
	kinglets = "kinglet"
	// dropIn is package cache or workqueue: the program that client-go is measured with,
	// with one import changed.
	dropIn = "drop-in"
	// drain reads the same bytes and throws them away: no informer can cost less.
	drain = "reading only"
)

// measure is what one process measured, by figure.
type measure map[string]float64

// row is measured for each of its engines, each in a process of its own.
type row struct {
	name string
	// engines in the order of their columns; ratios are to the first.
	engines []string
	figures []figure
	// once: one run is enough, since another row shows how much runs differ.
	once bool
	// server describes the pods of a server, which has encoded the rounds of them
	// from 0 to rounds; nil if the row needs none.
	server   *testpods.Options
	encoding replay.Encoding
	rounds   int
	// plane: the row needs a real control plane.
	plane bool
	do    func(context.Context, *job) (measure, error)
}

// figure is a line of a row.
type figure struct {
	key, what, unit string
	// targets of engines.
	targets map[string]target
	// against is the key of the peer's figure for ratio and target, if it is another.
	against string
}

// target is a limit: of the ratio to the peer's figure, or of an engine's own.
type target struct {
	atMost, atLeast, own float64
	// none: the figure is 0, apart from what the runtime adds.
	none bool
}

func (t target) String() string {
	switch {
	case t.none:
		return "none"
	case t.atLeast > 0:
		return "≥ " + part(t.atLeast)
	case t.own > 0:
		return fmt.Sprintf("≤ %.4g", t.own)
	}
	return "≤ " + part(t.atMost)
}

// met reports whether x is within the target, the peer's figure being peer.
func (t target) met(x, peer float64) bool {
	switch {
	case t.none:
		return x < 0.01
	case t.own > 0:
		return x <= t.own
	case peer == 0:
		return false
	case t.atLeast > 0:
		return x/peer >= t.atLeast
	}
	return x/peer <= t.atMost
}

// part writes a ratio as a part or a multiple.
func part(x float64) string {
	if x >= 1 {
		return fmt.Sprintf("%.3g ×", x)
	}
	return fmt.Sprintf("1/%.3g", 1/x)
}

// below is a target of kinglet, and of the drop-in if it is not 0: 1/n of the peer's.
func below(kinglet, dropin float64) map[string]target {
	t := map[string]target{}
	if kinglet > 0 {
		t[kinglets] = target{atMost: 1 / kinglet}
	}
	if dropin > 0 {
		t[dropIn] = target{atMost: 1 / dropin}
	}
	return t
}

// ours is one target of both.
func ours(t target) map[string]target { return map[string]target{kinglets: t, dropIn: t} }

// size is how much is measured.
type size struct {
	// Pods of most rows of whole informers; others follow in proportion.
	Pods  int
	Quick bool
}

// scaled returns n, or a part of it for a look.
func (s size) scaled(n, quick int) int {
	if s.Quick {
		return quick
	}
	return n
}

func allRows(s size) []row {
	return slices.Concat(rateRows(s), wireRows(s), storeRows(), queueRows(), managerRows(s), restRows(s), demandRows(s))
}

func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}
