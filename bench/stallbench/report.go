package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// Report is what -json writes.
type Report struct {
	Go                               string
	CPUs                             int
	Events, Steady, Rate, Keys, Runs int
	Outcomes                         []Outcome
}

func newReport(o *options) *Report {
	return &Report{Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Events: o.events, Steady: o.steady, Rate: o.rate, Keys: o.keys, Runs: o.runs}
}

// of is the median over the runs of an arm.
func (r *Report) of(engine string, stalled bool, figure func(*Outcome) float64) float64 {
	var xs []float64
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Engine == engine && o.Stalled == stalled {
			xs = append(xs, figure(o))
		}
	}
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// line is one row of the table.
type line struct {
	what, unit string
	figure     func(*Outcome) float64
	// alone: the figure exists without a stalled handler as well.
	alone bool
}

var lines = []line{
	{"events at full speed, all seen by the others", "/s", func(o *Outcome) float64 { return o.Rate }, true},
	{"the others' delay at the steady rate: p50", "µs", func(o *Outcome) float64 { return o.SteadyP50 }, true},
	{"p99", "µs", func(o *Outcome) float64 { return o.SteadyP99 }, true},
	{"max", "µs", func(o *Outcome) float64 { return o.SteadyMax }, true},
	{"their delay at full speed: p50", "µs", func(o *Outcome) float64 { return o.FullP50 }, true},
	{"p99", "µs", func(o *Outcome) float64 { return o.FullP99 }, true},
	{"heap grown by the events at full speed", "MiB", grown, true},
	{"pending at most for the stalled handler", "records", func(o *Outcome) float64 { return float64(o.MaxPending) }, false},
	{"in flight at most", "records", func(o *Outcome) float64 { return float64(o.MaxInFlight) }, false},
	{"let go: calls until it has caught up", "", func(o *Outcome) float64 { return float64(o.Told) }, false},
	{"time until it has", "ms", func(o *Outcome) float64 { return o.Recovery }, false},
	{"deletes that it was owed, and got", "", func(o *Outcome) float64 { return float64(o.Owed) }, false},
}

func grown(o *Outcome) float64 {
	return (float64(o.HeapAfter) - float64(o.HeapBefore)) / (1 << 20)
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; %d events on %d keys, then %d at %d/s; three handlers, or two without the stalled one; median of %d\n\n",
		r.Go, r.CPUs, r.Events, r.Keys, r.Steady, r.Rate, r.Runs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "figure\tclient-go\tone stalled\tkinglet\tone stalled\tunit\t")
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t", l.what)
		for _, engine := range []string{"client-go", "kinglet"} {
			for _, stalled := range []bool{false, true} {
				x := r.of(engine, stalled, l.figure)
				if !stalled && !l.alone || x < 0 && l.unit == "records" {
					fmt.Fprint(t, "-\t")
					continue
				}
				fmt.Fprintf(t, "%s\t", number(x))
			}
		}
		fmt.Fprintf(t, "%s\t\n", l.unit)
	}
	t.Flush()
	fmt.Fprintln(w)
	for i := range r.Outcomes {
		for _, wrong := range r.Outcomes[i].Wrong {
			fmt.Fprintf(w, "%s: %s\n", r.Outcomes[i].Engine, wrong)
		}
	}
	if r.violations() == nil {
		fmt.Fprintln(w, "kinglet: no guarantee violated")
	}
}

// violations is what is wrong with kinglet.
func (r *Report) violations() error {
	var errs []error
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Engine == "kinglet" {
			for _, wrong := range o.Wrong {
				errs = append(errs, errors.New("violated: "+wrong))
			}
		}
	}
	return errors.Join(errs...)
}

func number(x float64) string {
	if x > -100 && x < 100 && x != float64(int(x)) {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
