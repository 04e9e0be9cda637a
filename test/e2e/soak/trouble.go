package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// trouble is one kind of fault, and how often it happened.
type trouble struct {
	name string
	// weight is how often it comes, compared with the others.
	weight int
	// make causes it. It may take a while.
	make  func(ctx context.Context) error
	times atomic.Uint64
}

// deck deals troubles in random order.
type deck struct {
	random *rand.Rand
	all    []*trouble
}

func (d *deck) deal() *trouble {
	var cards []*trouble
	for _, t := range d.all {
		for range t.weight {
			cards = append(cards, t)
		}
	}
	return cards[d.random.IntN(len(cards))]
}

// newDeck returns a deck of all troubles of this plane.
func newDeck(p *plane, random *rand.Rand) *deck {
	once := func(fn func() error) func(context.Context) error {
		return func(context.Context) error { return fn() }
	}
	hit := func(oneIn int, do func(*tunnel)) func(context.Context) error {
		return func(context.Context) error { p.proxy.some(random, oneIn, do); return nil }
	}
	return &deck{random: random, all: []*trouble{
		{name: "connections reset", weight: 2, make: hit(2, (*tunnel).reset)},
		{name: "all connections reset", weight: 1, make: hit(1, (*tunnel).reset)},
		{name: "connections torn in a frame", weight: 3, make: hit(2, func(t *tunnel) { t.torn.Store(true) })},
		{name: "connections half-open", weight: 2, make: hit(3, func(t *tunnel) { t.frozen.Store(true) })},
		{name: "slow connections", weight: 1, make: func(ctx context.Context) error {
			p.proxy.delay.Store(int64(20+random.IntN(200)) * int64(time.Millisecond))
			defer p.proxy.delay.Store(0)
			pause(ctx, 2*time.Second)
			return nil
		}},
		{name: "connections refused", weight: 1, make: func(ctx context.Context) error {
			p.proxy.refuse.Store(true)
			defer p.proxy.refuse.Store(false)
			p.proxy.some(random, 1, (*tunnel).reset)
			pause(ctx, 2*time.Second)
			return nil
		}},
		{name: "etcd compacted", weight: 1, make: once(p.Compact)},
		{name: "API server restarted", weight: 1, make: once(func() error { return p.restart(false) })},
		{name: "API server restarted, history gone", weight: 1, make: once(func() error { return p.restart(true) })},
	}}
}

// run causes trouble until ctx ends, with gap between two on average. It ends a trouble
// that it has begun.
func (d *deck) run(ctx context.Context, gap time.Duration) error {
	for {
		pause(ctx, gap/2+time.Duration(d.random.Int64N(int64(gap))))
		if ctx.Err() != nil {
			return nil
		}
		t := d.deal()
		if err := t.make(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		t.times.Add(1)
	}
}
