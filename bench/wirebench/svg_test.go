package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChartsAreDrawnOfWhatWasMeasured draws a report with some of its rows.
func TestChartsAreDrawnOfWhatWasMeasured(t *testing.T) {
	r := &Report{Results: []Result{
		{Row: "protobuf", Pods: 50_000, Figure: burstCPU, ClientGo: 118, Kinglet: 15.7},
		{Row: "json", Pods: 50_000, Figure: burstCPU, ClientGo: 450, Kinglet: 25},
		{Row: "json " + string(http2), Pods: 50_000, Figure: burstCPU, ClientGo: 470},
		{Row: "protobuf", Pods: 50_000, Figure: syncPeak, ClientGo: 1300, Kinglet: 230},
		{Row: growthRow(10_000), Pods: 10_000, Figure: syncPeak, ClientGo: 300, Kinglet: 70},
		{Row: "protobuf" + gatheredRow, Pods: 50_000, Figure: burstRate, ClientGo: 11_000, Kinglet: 62_000},
	}}
	dir := t.TempDir()
	if err := r.draw(dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"event-cpu.svg": "7.52× less", "rss.svg": "1,300", "growth-rss.svg": "10,000 pods", "event-rate.svg": "5.64× more",
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s does not say %q:\n%s", file, want, b)
		}
		for d := xml.NewDecoder(bytes.NewReader(b)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v", file, err)
			}
		}
		if file == "event-cpu.svg" && strings.Count(string(b), `<rect class="kinglet" x="190"`) != 2 {
			t.Errorf("%s has a bar of what was not measured:\n%s", file, b)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 4 {
		t.Errorf("%d charts, %v", len(files), err)
	}
}

// TestAxesEndAtARoundNumberAtOrBeyondTheLongestBar tries many.
func TestAxesEndAtARoundNumberAtOrBeyondTheLongestBar(t *testing.T) {
	for most := 0.03; most < 1e7; most *= 1.37 {
		c := barChart{Pairs: []pair{{"", most, most / 3}}}
		top := c.scale()
		if ticks := top / tick(top); top < most || top > 1.3*most || ticks < 3.9 || ticks > 11 {
			t.Errorf("an axis for %g ends at %g, with %g ticks", most, top, ticks)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 1: "1", 15.7: "15.7", 118.4: "118", 19258: "19,258", 1234567: "1,234,567"} {
		if got := thousands(v); got != want {
			t.Errorf("%v is written %q, not %q", v, got, want)
		}
	}
}
