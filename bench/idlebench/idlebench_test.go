package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveHere serves until the test ends.
func serveHere(t *testing.T, objects int) Endpoint {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(ln, objects)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.endpoint
}

// TestEverySideSyncsAndIsMeasuredOverHTTP2 runs all sides against the real
// server, more of them than one connection takes.
func TestEverySideSyncsAndIsMeasuredOverHTTP2(t *testing.T) {
	for _, objects := range []int{0, 3} {
		at := serveHere(t, objects)
		got := map[string][]Footprint{}
		o := &options{n: maxStreams + 20, objects: objects, runs: 1}
		for name := range sides {
			o.measure = name
			f, err := measure(t.Context(), o, at)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if watches(name) && f.Streams.Connections != 2 {
				t.Errorf("%s: %d watches are on %d connections", name, f.Streams.Watches, f.Streams.Connections)
			}
			if f.Live == 0 || f.Stacks == 0 || f.Goroutines == 0 {
				t.Errorf("%s: nothing was measured: %+v", name, f)
			}
			got[name] = append(got[name], f)
		}
		var out bytes.Buffer
		newReport(o, got).print(&out)
		for _, want := range []string{"bare stream", "kinglet beyond a bare stream", "client-go beyond a bare stream and the objects"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the report does not say %q:\n%s", want, out.String())
			}
		}
	}
}

// TestAReportIsWhatIsLeftOfMediansForEachInformer checks the arithmetic.
func TestAReportIsWhatIsLeftOfMediansForEachInformer(t *testing.T) {
	o := &options{n: 10, runs: 3}
	all := func(f ...Footprint) []Footprint { return f }
	got := map[string][]Footprint{
		"streams": all(Footprint{Goroutines: 20, Live: 1000, Stacks: 500}, Footprint{Goroutines: 20, Live: 900, Stacks: 500}, Footprint{Goroutines: 20, Live: 99_000, Stacks: 500}),
		"kinglet": all(Footprint{Goroutines: 50, Live: 11_000, Stacks: 1500}, Footprint{Goroutines: 50, Live: 11_000, Stacks: 1500}, Footprint{Goroutines: 50, Live: 0, Stacks: 0}),
	}
	got["nothing"] = all(Footprint{Goroutines: 5, Live: 100})
	got["objects"] = all(Footprint{Goroutines: 5, Live: 3100})
	r := newReport(o, got)
	k := r.Rows[2]
	if k.Goroutines != 3 || k.Live != 1000 || k.Stacks != 100 || k.Memory != 1100 {
		t.Errorf("kinglet beyond streams is %+v", k)
	}
	k = r.Rows[3]
	if k.Goroutines != 3 || k.Live != 700 || k.Stacks != 100 || k.Memory != 800 || k.Met != "pass" {
		t.Errorf("kinglet beyond streams and objects is %+v", k)
	}
	for i := range got["kinglet"] {
		got["kinglet"][i].Live += 10 * targetMemory
	}
	if met := newReport(o, got).Rows[3].Met; met != "SHORT" {
		t.Errorf("more than the target is %q", met)
	}
	got["kinglet"][0].Goroutines, got["kinglet"][1].Goroutines = 51, 51
	if met := newReport(o, got).Rows[3].Met; met != "SHORT" {
		t.Errorf("more goroutines than the target are %q", met)
	}
}
