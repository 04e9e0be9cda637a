// Package report prints and keeps what a benchmark has measured of kinglet and a peer.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// Result is one figure of one row: medians over the runs.
type Result struct {
	Row, What, Unit string
	// Peer is the peer's figure; that of another line, What of which is Against, if that
	// is not empty.
	Peer, Kinglet float64
	Against       string `json:",omitempty"`
	// Ratio is Kinglet over Peer; 0 where only one was measured.
	Ratio float64
	// Target is in words, Met is "pass" or "SHORT"; both are empty where there is no
	// target.
	Target, Met string
	// All holds each run's figure.
	AllPeer, AllKinglet []float64
}

// Of returns the result of some runs, without a target.
func Of(row, what, unit string, peer, kinglet []float64) Result {
	r := Result{Row: row, What: what, Unit: unit, AllPeer: peer, AllKinglet: kinglet, Peer: stats.Median(peer), Kinglet: stats.Median(kinglet)}
	if r.Peer > 0 {
		r.Ratio = r.Kinglet / r.Peer
	}
	return r
}

// Each returns a figure of each run that has it.
func Each[M ~map[string]float64](runs []M, key string) (xs []float64) {
	for _, m := range runs {
		if x, ok := m[key]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

// Print writes a table of results, and how many fall short of their targets.
func Print(w io.Writer, peer string, results []Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "row\tfigure\t%s\tkinglet\tunit\tkinglet is\ttarget\t\t\n", peer)
	short := 0
	for _, x := range results {
		theirs, ratio := "-", ""
		if x.AllPeer != nil {
			theirs = number(x.Peer)
		}
		if x.Ratio > 0 {
			ratio = target.Part(x.Ratio)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Row, x.What, theirs, number(x.Kinglet), x.Unit, ratio, x.Target, x.Met)
		if x.Met == "SHORT" {
			short++
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d targets short\n", short)
}

func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.01:
		return fmt.Sprintf("%.5f", x)
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// WriteJSON writes a report to a file; it does nothing if file is empty.
func WriteJSON(file string, report any) error {
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
