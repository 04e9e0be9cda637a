package churn

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "of what is random in the tests; 0: another each time")

// world is what a plan changes, kept naively.
type world map[string]struct{ replicas, revision int }

// TestOperationsAreLegal carries out a plan's operations in a world that fails
// now and then and loses deployments, and checks that each makes sense there.
func TestOperationsAreLegal(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	opts := Options{Deployments: 7, Replicas: 6, Seed: seed}.withDefaults()
	p := newPlan(opts)
	w := world{}
	var happened [deleteDeployment + 1]int
	names := map[string]bool{}
	for range 20_000 {
		op, ok := p.next()
		if !ok {
			t.Fatal("nothing to do")
		}
		was, exists := w[op.name]
		switch {
		case op.kind == create && names[op.name]:
			t.Fatalf("%s was there before", op.name)
		case op.kind != create && !exists:
			t.Fatalf("%s %s, which is not there", op.kind, op.name)
		case op.kind == roll && op.revision != was.revision+1:
			t.Fatalf("rolled from revision %d to %d", was.revision, op.revision)
		case op.kind == scale && (op.replicas == was.replicas || op.replicas < 3 || op.replicas > 9):
			t.Fatalf("scaled from %d to %d", was.replicas, op.replicas)
		}
		if random.IntN(10) == 0 {
			continue // it failed, and so has not happened
		}
		if exists && random.IntN(50) == 0 { // somebody else was faster
			delete(w, op.name)
			p.lost(op)
			continue
		}
		switch op.kind {
		case deleteDeployment:
			delete(w, op.name)
		default:
			w[op.name] = struct{ replicas, revision int }{op.replicas, op.revision}
		}
		names[op.name] = true
		p.done(op)
		happened[op.kind]++
		if len(w) > opts.Deployments {
			t.Fatalf("%d deployments, want at most %d", len(w), opts.Deployments)
		}
	}
	for k, n := range happened {
		if n == 0 {
			t.Errorf("it never came to %q", kind(k))
		}
	}
}

func TestASeedRepeatsItself(t *testing.T) {
	run := func(seed uint64) (ops []operation) {
		p := newPlan(Options{Deployments: 5, Seed: seed}.withDefaults())
		for range 100 {
			op, _ := p.next()
			p.done(op)
			ops = append(ops, op)
		}
		return ops
	}
	first, again, other := run(1), run(1), run(2)
	if !slices.Equal(first, again) {
		t.Error("the same seed gave other operations")
	}
	if slices.Equal(first, other) {
		t.Error("another seed gave the same operations")
	}
}

func TestScalingAlwaysChangesSomething(t *testing.T) {
	for average := 1; average <= 20; average++ {
		p := newPlan(Options{Deployments: 1, Replicas: average})
		for now := range 3 * average {
			for range 20 {
				n := p.otherReplicas(now)
				if n == now || n < 1 || n > average+max(1, average/2) {
					t.Fatalf("around %d: from %d to %d", average, now, n)
				}
			}
		}
	}
}

func TestNamesGoOnWhereAnEarlierRunStopped(t *testing.T) {
	p := newPlan(Options{Deployments: 3}.withDefaults())
	p.found(1, slot{name: "app-1-17", replicas: 2, revision: 4})
	if op, ok := p.missing(); !ok || op.slot != 0 || op.name != "app-0-18" {
		t.Errorf("got %+v", op)
	}
}
