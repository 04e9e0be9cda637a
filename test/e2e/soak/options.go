package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options are the options of the command line.
type options struct {
	duration time.Duration
	every    time.Duration // a cycle's rough part
	gap      time.Duration // between two troubles, on average
	patience time.Duration // of a checkpoint
	watch    time.Duration // MinWatchTimeout of typed informers

	namespaces, names int     // of ConfigMaps
	rate              float64 // writes a second
	visitors          int     // in one wave
	waves             time.Duration

	seed    uint64
	out     string
	program string // kinglet-cluster

	// brief leaves out what takes longer than seconds: the informer with its own
	// connection, over HTTP/1.1, which has no pings. A half-open one is given up 30 s
	// after its watch should have ended.
	brief  bool
	stdout io.Writer
}

func (o *options) flags(set *flag.FlagSet) {
	set.DurationVar(&o.duration, "for", 20*time.Minute, "how long, in cycles that are begun")
	set.DurationVar(&o.every, "every", time.Minute, "how long it is rough between two checkpoints")
	set.DurationVar(&o.gap, "gap", 4*time.Second, "time between two troubles, on average")
	set.DurationVar(&o.patience, "patience", 3*time.Minute, "how long a checkpoint may take to find everything equal")
	set.DurationVar(&o.watch, "watch", 10*time.Second, "the least time for which typed informers ask for a watch")
	set.IntVar(&o.namespaces, "namespaces", 12, "namespaces with ConfigMaps")
	set.IntVar(&o.names, "names", 40, "names of ConfigMaps in each")
	set.Float64Var(&o.rate, "rate", 60, "writes of ConfigMaps a second")
	set.IntVar(&o.visitors, "visitors", 100, "informers that are started and stopped together")
	set.DurationVar(&o.waves, "waves", 5*time.Second, "time between two such waves")
	set.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of everything random")
	set.StringVar(&o.out, "out", "", "write the figures to `file` as JSON")
	set.StringVar(&o.program, "cluster", "", "the kinglet-cluster `program`; built if empty")
}

func (o *options) validate() error {
	var errs []error
	positive := func(name string, ok bool) {
		if !ok {
			errs = append(errs, fmt.Errorf("-%s must be positive", name))
		}
	}
	positive("for", o.duration > 0)
	positive("every", o.every > 0)
	positive("gap", o.gap > 0)
	positive("patience", o.patience > 0)
	positive("watch", o.watch > 0)
	positive("namespaces", o.namespaces > 0)
	positive("names", o.names > 0)
	positive("rate", o.rate > 0)
	positive("visitors", o.visitors > 0)
	positive("waves", o.waves > 0)
	return errors.Join(errs...)
}
