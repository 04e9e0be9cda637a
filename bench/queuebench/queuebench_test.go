package main

import (
	"io"
	"testing"
)

func TestEveryRowMeasuresEveryEngine(t *testing.T) {
	small := sizes{rounds: 20, adds: 1600, passes: 1, waiting: 1000, restart: 200}
	var report Report
	for _, r := range rows {
		got := map[string][]Measure{}
		for _, e := range engines {
			m, err := measureHere(r.name, e.name, small)
			if err != nil {
				t.Fatal(err)
			}
			got[e.name] = []Measure{m}
		}
		for _, res := range r.judge(got) {
			for _, e := range engines {
				if len(res.All[e.name]) != 1 {
					t.Errorf("%s of %s: %v", res.What, e.name, res.All[e.name])
				}
			}
			report.Rows = append(report.Rows, res)
		}
	}
	report.print(io.Discard)
}
