package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options say how long a run is, and how much happens in it.
type options struct {
	duration time.Duration
	every    time.Duration // a cycle's rough part
	seed     uint64
	program  string // kinglet-cluster

	gap      time.Duration // between two troubles, on average
	rate     float64       // writes of ConfigMaps a second
	visitors int           // in one wave
	waves    time.Duration // between two of them

	// brief leaves out what takes longer than seconds: the informer with its own
	// connection, over HTTP/1.1, which has no pings. A half-open one is given up 30 s
	// after its watch should have ended.
	brief  bool
	stdout io.Writer
}

const (
	// patience is how long a checkpoint may take to find everything equal.
	patience = 3 * time.Minute
	// leastWatch is the least time for which typed informers ask for a watch.
	leastWatch = 10 * time.Second
	// namespaces with so many names of ConfigMaps in each.
	namespaces, names = 12, 40
)

// flags adds the flags, and sets what has none.
func (o *options) flags(set *flag.FlagSet) {
	set.DurationVar(&o.duration, "for", 20*time.Minute, "how long, in cycles that are begun")
	set.DurationVar(&o.every, "every", time.Minute, "how long it is rough between two checkpoints")
	set.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of everything random")
	set.StringVar(&o.program, "cluster", "", "the kinglet-cluster `program`; built if empty")
	o.gap, o.rate, o.visitors, o.waves = 4*time.Second, 60, 100, 5*time.Second
}

func (o *options) validate() error {
	var errs []error
	if o.duration <= 0 {
		errs = append(errs, fmt.Errorf("-for %v must be positive", o.duration))
	}
	if o.every <= 0 {
		errs = append(errs, fmt.Errorf("-every %v must be positive", o.every))
	}
	return errors.Join(errs...)
}
