package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
)

// soak is one run.
type soak struct {
	o        *options
	plane    *plane
	began    time.Time
	churn    *churn
	deck     *deck
	visitors *visitors
	members  []*resident

	stalls, failures atomic.Uint64 // failures that informers reported
	mostPending      atomic.Int64

	checkpoints            []checkpoint
	events, lists, watches uint64 // of residents

	print sync.Mutex
}

func runSoak(ctx context.Context, o *options) (err error) {
	s := &soak{o: o, began: time.Now()}
	s.printf("seed %d; starting a control plane", o.seed)
	plane, stop, err := startPlane(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s.plane = plane
	if err := s.prepare(ctx); err != nil {
		return err
	}
	defer s.report()
	return s.all(ctx)
}

// prepare creates what the cycles need.
func (s *soak) prepare(ctx context.Context) (err error) {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: churnNamespace(i)}}
		if _, err := s.plane.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	s.churn = newChurn(s.plane.client, s.o, rand.New(rand.NewPCG(s.o.seed, 2)))
	s.deck = newDeck(s.plane, rand.New(rand.NewPCG(s.o.seed, 3)))
	s.visitors, err = newVisitors(s)
	return err
}

// all runs the warm-up and the cycles, and ends everything.
func (s *soak) all(ctx context.Context) error {
	if err := s.resident(ctx, s.warmUp); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	before, err := s.plane.idle(ctx, gauge{})
	if err != nil {
		return err
	}
	s.printf("warmed up, and at rest: %v", before)

	if err := s.resident(ctx, s.cycles); err != nil {
		return err
	}
	after, err := s.plane.idle(ctx, before)
	if err != nil {
		return err
	}
	s.printf("at rest again: %v", after)
	if err := after.exceeds(before, s.plane.heap); err != nil {
		return fmt.Errorf("guarantee 9: something is left when everything has stopped: %w\n%s", err, goroutines())
	}
	return flat(s.checkpoints)
}

// resident runs fn while residents run, and returns once all have stopped.
func (s *soak) resident(ctx context.Context, fn func(context.Context) error) error {
	members, err := s.residents()
	if err != nil {
		return err
	}
	s.members = members
	defer func() { s.members = nil }()
	set := kinglet.NewSet()
	for _, r := range members {
		if err := set.Add(r.run); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- set.Run(running) }()
	err = s.live(ctx, set, fn)
	for _, r := range members {
		st := r.run.Status()
		s.events, s.lists, s.watches = s.events+st.Events, s.lists+st.Lists, s.watches+st.Watches
	}
	stop()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case e := <-ended:
		return errors.Join(err, e)
	case <-timer.C:
		return errors.Join(err, fmt.Errorf("guarantee 9: the informers have not ended %v after they were stopped\n%s", farewell, goroutines()))
	}
}

func (s *soak) live(ctx context.Context, set *kinglet.Set, fn func(context.Context) error) error {
	syncing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := set.WaitSynced(syncing); err != nil {
		return errors.Join(err, ctx.Err())
	}
	return fn(ctx)
}

// warmUp does everything once, so that what stays for good (connection pools, plans of
// types, names) exists before anything is measured.
func (s *soak) warmUp(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, min(5*time.Second, s.o.every/5))
	defer cancel()
	s.churn.run(brief)
	if err := s.visitors.wave(ctx, min(12, s.o.visitors)); err != nil {
		return err
	}
	s.plane.proxy.some(s.deck.random, 1, (*tunnel).reset)
	return s.quiet(ctx)
}

// cycles runs the cycles of the soak.
func (s *soak) cycles(ctx context.Context) error {
	s.checkpoints, s.events, s.lists, s.watches = nil, 0, 0, 0 // without the warm-up's
	for end := time.Now().Add(s.o.duration); time.Now().Before(end); {
		if err := s.cycle(ctx, min(s.o.every, time.Until(end))); err != nil {
			return err
		}
	}
	return nil
}

// cycle runs one rough time and the checkpoint after it.
func (s *soak) cycle(ctx context.Context, lasts time.Duration) error {
	if err := s.plane.SetChurn(podChurn); err != nil {
		return err
	}
	rough, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	parts := []func() error{
		func() error { s.churn.run(rough); return nil },
		func() error { return s.deck.run(rough, s.o.gap) },
		func() error { return s.visitors.run(rough, s.o.visitors, s.o.waves) },
		func() error { return s.stall(rough) },
	}
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			if errs[i] = part(); errs[i] != nil {
				cancel() // the others end in good order
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.plane.proxy.heal()
	return s.quiet(ctx)
}

// quiet ends the churn of pods, and takes a checkpoint.
func (s *soak) quiet(ctx context.Context) error {
	if err := s.plane.SetChurn(0); err != nil {
		return err
	}
	return s.checkpoint(ctx)
}

// stall stalls the first handler of every resident until rough ends, and checks how much
// is pending for it.
func (s *soak) stall(rough context.Context) error {
	for _, r := range s.members {
		release := r.histories[0].Stall()
		defer release()
		s.stalls.Add(1)
	}
	<-rough.Done()
	for _, r := range s.members {
		if r.pending == nil {
			continue
		}
		n, most := r.pending()
		if n > most {
			return fmt.Errorf("guarantee 5: %d records are pending for a stalled handler of %s, %d keys were delivered or are alive", n, r.name, most)
		}
		s.mostPending.Store(max(s.mostPending.Load(), int64(n)))
	}
	return nil
}

// reported counts what informers report.
func (s *soak) reported(error) { s.failures.Add(1) }

// printf writes a line with the time since the soak began.
func (s *soak) printf(format string, args ...any) {
	s.print.Lock()
	defer s.print.Unlock()
	fmt.Fprintf(s.o.stdout, "%7.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}
