package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// serveHere serves until the test ends.
func serveHere(t *testing.T, opts pods.Options) *replay.Server {
	t.Helper()
	c, err := pods.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := replay.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestEveryRowIsMeasuredWithBothEnginesAndTheStoresEqualTheServer runs the
// jobs of all rows, with few pods; in JSON with fewer, which takes client-go
// five milliseconds each under the race detector.
func TestEveryRowIsMeasuredWithBothEnginesAndTheStoresEqualTheServer(t *testing.T) {
	all := rows(sizes{main: 200, middle: 150, small: 100, large: 300})
	for i := range all {
		if s := &all[i].setup; s.Encoding == replay.JSON {
			s.Pods.Pods = 20
		}
	}
	// At the same time, since most of the time goes into waiting for relists.
	// What is measured of the process is nobody's then, and only has to be
	// there.
	for _, g := range groups(unmeasured(all)) {
		t.Run(g.rows[0].row.name, func(t *testing.T) {
			t.Parallel()
			for _, m := range g.rows {
				measureHere(t, &g, &m.row)
			}
		})
	}
}

// measureHere measures a row with everything that it is measured with.
func measureHere(t *testing.T, g *group, r *row) {
	s := serveHere(t, g.pods)
	control := replay.Control{Endpoint: s.Endpoint()}
	prepared, err := control.Prepare(t.Context(), g.encoding, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{clientGo, kinglets} {
		if err := control.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		f, err := measure(t.Context(), &job{Setup: r.setup, Engine: engine, Endpoint: s.Endpoint(), Check: true})
		if err != nil {
			t.Fatalf("%s, %s: %v", r.name, engine, err)
		}
		if int(f[checked]) != r.setup.Pods.Pods {
			t.Errorf("%s, %s: %v objects were found equal", r.name, engine, f[checked])
		}
		for want := range r.targets {
			if _, ok := f[want]; !ok {
				t.Errorf("%s, %s: %s was not measured", r.name, engine, want)
			}
		}
	}
	if !r.drain {
		return
	}
	if err := control.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := measureDrain(t.Context(), &job{Setup: r.setup, Endpoint: s.Endpoint(), Prepared: prepared})
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	if f[burstRate] <= 0 || f[syncWall] <= 0 {
		t.Errorf("%s: reading alone is %v", r.name, f)
	}
}

func unmeasured(all []row) (out []*measured) {
	for _, r := range all {
		out = append(out, &measured{row: r, engines: map[string][]figures{}})
	}
	return out
}

// TestAStoreThatIsNotAsTheServerHasItIsAnError moves the server on behind an
// informer's back: with a forced relist that nobody waits for.
func TestAStoreThatIsNotAsTheServerHasItIsAnError(t *testing.T) {
	s := serveHere(t, pods.Options{Pods: 50})
	j := &job{
		Setup:    setup{Pods: pods.Options{Pods: 50}, Encoding: replay.Protobuf, Transport: http1, Form: typed, Shape: whole, Handlers: 1},
		Endpoint: s.Endpoint(),
	}
	for _, engine := range []string{clientGo, kinglets} {
		a := newAudience(1)
		all := a.expect("", 50)
		inf, err := engines[engine](t.Context(), &j.Setup, config(&j.Setup, j.Endpoint), a)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.wait(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if n, err := compare(t.Context(), j, inf); n != 50 || err != nil {
			t.Errorf("%s: %d are equal, %v", engine, n, err)
		}
		inf.stop()
		control := replay.Control{Endpoint: s.Endpoint()}
		if _, err := control.Burst(t.Context(), replay.Protobuf, 1, false); err != nil {
			t.Fatal(err)
		}
		if n, err := compare(t.Context(), j, inf); err == nil || !strings.Contains(err.Error(), "not as the server has it") {
			t.Errorf("%s: a store that has missed an event passes, %d objects, %v", engine, n, err)
		}
		if err := control.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnAudienceWaitsForTheLastListener counts by hand.
func TestAnAudienceWaitsForTheLastListener(t *testing.T) {
	a := newAudience(2)
	over := func(g *goal) bool {
		select {
		case <-g.reached:
			return true
		default:
			return false
		}
	}
	first := a.expect("", 2)
	for i := range 2 {
		for _, l := range a.listeners {
			if over(first) {
				t.Fatalf("over after %d rounds", i)
			}
			l.heard(fmt.Sprint(5 + i))
		}
	}
	if !over(first) || a.told() != 4 {
		t.Fatalf("not over after 4 calls: %d", a.told())
	}
	second := a.expect("7", 1)
	for _, v := range []string{"6", "7", "8"} {
		a.listeners[0].heard(v)
	}
	a.listeners[1].heard("7")
	if over(second) {
		t.Fatal("over, and a listener has heard of nothing that counts")
	}
	a.listeners[1].heard("9")
	if !over(second) {
		t.Fatal("not over")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.failed(errDeleted)
	if err := a.wait(ctx, a.expect("", 1)); err == nil || !strings.Contains(err.Error(), errDeleted.Error()) {
		t.Errorf("a wait that fails says %v", err)
	}
}
