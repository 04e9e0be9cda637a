package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// warmUpRounds is the number of rounds before anything is measured.
const warmUpRounds = 30

// rounds starts and stops informers, and definitions under informers.
type rounds struct {
	o        *options
	plane    *plane
	visitors *visitors
	began    time.Time
	figures  *Figures
	failures atomic.Uint64
}

func runRounds(ctx context.Context, o *options) (err error) {
	r := &rounds{o: o, began: time.Now(), figures: newFigures(o)}
	r.printf("starting a control plane")
	plane, stop, err := startPlane(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r.plane = plane
	err = errors.Join(r.prepare(ctx), ctx.Err())
	if err == nil {
		err = r.all(ctx)
	}
	r.figures.Seconds = time.Since(r.began).Seconds()
	r.figures.Outcome = outcome(err)
	return errors.Join(err, r.figures.write(o))
}

func (r *rounds) prepare(ctx context.Context) (err error) {
	for i := range r.o.namespaces {
		if err := r.plane.createNamespace(ctx, churnNamespace(i)); err != nil {
			return err
		}
	}
	r.visitors, err = newVisitors(r.plane.pooled(), r.o, func(error) { r.failures.Add(1) })
	if err == nil {
		r.visitors.visit = r.o.patience
	}
	return err
}

func (r *rounds) all(ctx context.Context) error {
	lanes := make([]*lane, min(r.o.lanes, r.o.rounds))
	for i := range lanes {
		lanes[i] = newLane(r, i)
	}
	for _, part := range []struct {
		name    string
		warmUp  int
		measure func(ctx context.Context, n int) error
	}{
		{"rounds of starting and stopping an informer", min(warmUpRounds, r.o.rounds), r.informers},
		{"rounds of creating and deleting a definition", len(lanes), func(ctx context.Context, n int) error { return r.definitions(ctx, lanes, n) }},
	} {
		if err := part.measure(ctx, part.warmUp); err != nil {
			return err
		}
		before, err := r.plane.idle(ctx, gauge{})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := part.measure(ctx, r.o.rounds); err != nil {
			return err
		}
		took := time.Since(began)
		after, err := r.plane.idle(ctx, before)
		if err != nil {
			return err
		}
		r.figures.Before, r.figures.After = before, after
		r.figures.count(part.name, "%d in %v, %v each on average", r.o.rounds, took.Round(time.Second/10), (took / time.Duration(r.o.rounds)).Round(time.Millisecond))
		r.figures.count("  before", "%v", before)
		r.figures.count("  after", "%v", after)
		r.printf("%d %s in %v: %v before, %v after", r.o.rounds, part.name, took.Round(time.Second/10), before, after)
		if err := after.exceeds(before, r.plane.heap); err != nil {
			return fmt.Errorf("guarantee 9: something is left after %s: %w\n%s", part.name, err, goroutines())
		}
	}
	return nil
}

// informers starts, syncs and stops n informers, one after the other.
func (r *rounds) informers(ctx context.Context, n int) error {
	started, synced := r.visitors.started.Load(), r.visitors.synced.Load()
	progress := time.Now()
	for i := range n {
		if err := r.visitors.one(ctx, i); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(progress) >= progressEvery {
			progress = time.Now()
			r.printf("%d of %d informers started and stopped", i+1, n)
		}
	}
	if started, synced = r.visitors.started.Load()-started, r.visitors.synced.Load()-synced; synced != started {
		return fmt.Errorf("%d of %d informers have not synced within %v", started-synced, started, r.visitors.visit)
	}
	return nil
}

// definitions runs n rounds in all lanes together.
func (r *rounds) definitions(ctx context.Context, lanes []*lane, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left atomic.Int64
	left.Store(int64(n))
	var running, reporting sync.WaitGroup
	for _, l := range lanes {
		running.Go(func() {
			if err := l.run(ctx, &left); err != nil {
				cancel(err)
			}
		})
	}
	until, stop := context.WithCancel(ctx)
	reporting.Go(func() {
		for pause(until, progressEvery); until.Err() == nil; pause(until, progressEvery) {
			r.printf("%d of %d rounds of definitions begun", int64(n)-max(0, left.Load()), n)
		}
	})
	running.Wait()
	stop()
	reporting.Wait()
	return context.Cause(ctx)
}

func (r *rounds) printf(format string, args ...any) {
	printf(r.o.stdout, r.began, format, args...)
}

// printf writes a line with the time since began.
func printf(w io.Writer, began time.Time, format string, args ...any) {
	fmt.Fprintf(w, "%7.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
