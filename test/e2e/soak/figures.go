package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figures are the results of a run.
type Figures struct {
	Seed        uint64       `json:"seed"`
	Seconds     float64      `json:"seconds"`
	Outcome     string       `json:"outcome"` // "ok", or what is wrong
	Counts      []Count      `json:"counts"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Before      gauge        `json:"before"`
	After       gauge        `json:"after"`

	start                  time.Time
	events, lists, watches uint64
}

// Count is one line of the table.
type Count struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Checkpoint is a checkpoint that was passed.
type Checkpoint struct {
	At   float64 `json:"atSeconds"`
	Took float64 `json:"tookSeconds"`
	// Last is the informer that was the last to be equal.
	Last    string `json:"last"`
	Objects int    `json:"objects"`
	Gauge   gauge  `json:"gauge"`
	// Shared is how much of the heap is in the residents' tables of shared values.
	// Tables also keep values that no object has any more, up to their MaxBytes.
	Shared uint64 `json:"sharedBytes"`
}

// heap returns what the live heap has beyond tables of shared values, which fill up
// over hours and are bounded.
func (c Checkpoint) heap() int { return int(c.Gauge.Heap - min(c.Shared, c.Gauge.Heap)) }

func newFigures(o *options) *Figures { return &Figures{Seed: o.seed, start: time.Now()} }

// began discards the figures of the warm-up.
func (f *Figures) began() {
	f.start, f.Checkpoints = time.Now(), nil
	f.events, f.lists, f.watches = 0, 0, 0
}

func (f *Figures) tally(members []*resident) {
	for _, r := range members {
		st := r.run.Status()
		f.events += st.Events
		f.lists += st.Lists
		f.watches += st.Watches
	}
}

func (f *Figures) count(name, format string, args ...any) {
	f.Counts = append(f.Counts, Count{name, fmt.Sprintf(format, args...)})
}

// flatFrom is the least number of checkpoints that show a trend.
const flatFrom = 6

// flat returns an error if the residents took more in the last third of the checkpoints
// than in the first, by their medians. It allows a quarter more and a constant, since
// checkpoints vary.
func (f *Figures) flat() error {
	third := len(f.Checkpoints) / 3
	if len(f.Checkpoints) < flatFrom {
		return nil
	}
	first, last := f.Checkpoints[:third], f.Checkpoints[len(f.Checkpoints)-third:]
	for _, m := range []struct {
		name string
		of   func(Checkpoint) int
		more int
	}{
		{"goroutines", func(c Checkpoint) int { return c.Gauge.Goroutines }, 10},
		{"bytes of live heap beyond tables of shared values", Checkpoint.heap, moreHeap},
		{"open files", func(c Checkpoint) int { return c.Gauge.Files }, 10},
	} {
		was, is := median(first, m.of), median(last, m.of)
		if is > was+was/4+m.more {
			return fmt.Errorf("%d %s at the last checkpoints, %d at the first", is, m.name, was)
		}
	}
	return nil
}

func median(of []Checkpoint, by func(Checkpoint) int) int {
	values := make([]int, len(of))
	for i, c := range of {
		values[i] = by(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// finish fills in the figures at the end of a run, which err may have ended.
func (s *soak) finish(err error) {
	f := s.figures
	f.Seconds = time.Since(f.start).Seconds()
	f.Outcome = outcome(err)
	f.count("duration", "%v", time.Since(f.start).Round(time.Second))
	f.count("ConfigMaps written", "%d (%d writes failed)", s.churn.writes.Load(), s.churn.failures.Load())
	for _, t := range s.deck.all {
		value := fmt.Sprint(t.times.Load())
		if strings.Contains(t.name, "connections") && t.hits.Load() != t.times.Load() {
			value += fmt.Sprintf(" times, %d connections", t.hits.Load())
		}
		f.count(t.name, "%s", value)
	}
	f.count("API server down", "%v in all", time.Duration(s.plane.down.Load()).Round(time.Second))
	f.count("handlers stalled through a cycle", "%d, at most %d records pending", s.stalls.Load(), s.mostPending.Load())
	f.count("informers started and stopped", "%d (%d synced before they were stopped)", s.visitors.started.Load(), s.visitors.synced.Load())
	f.count("residents received", "%d events, by %d lists and %d watches", f.events, f.lists, f.watches)
	f.count("failures that informers reported", "%d", s.failures.Load())
	if n := len(f.Checkpoints); n > 0 {
		milliseconds := func(c Checkpoint) int { return int(c.Took * 1000) }
		longest := slices.MaxFunc(f.Checkpoints, func(a, b Checkpoint) int { return milliseconds(a) - milliseconds(b) })
		f.count("checkpoints passed", "%d; equal after %.1f s (median), %.1f s (longest: %s)",
			n, float64(median(f.Checkpoints, milliseconds))/1000, longest.Took, longest.Last)
		f.count("at the first checkpoint", "%v", f.Checkpoints[0].Gauge)
		f.count("at the last", "%v", f.Checkpoints[n-1].Gauge)
	}
	if f.After != (gauge{}) {
		f.count("at rest, before", "%v", f.Before)
		f.count("at rest, after", "%v", f.After)
	}
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// write prints the table and, if requested, the JSON.
func (f *Figures) write(o *options) error {
	w := tabwriter.NewWriter(o.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, c := range f.Counts {
		fmt.Fprintf(w, "%s\t%s\n", c.Name, c.Value)
	}
	first, _, _ := strings.Cut(f.Outcome, "\n")
	fmt.Fprintf(w, "outcome\t%s\n", first)
	if err := w.Flush(); err != nil || o.out == "" {
		return err
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(b, '\n'), 0o644)
}
