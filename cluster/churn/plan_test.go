package churn

import (
	"math/rand/v2"
	"testing"
)

// world is what a plan changes, kept naively.
type world map[string]struct{ replicas, revision int }

// TestOperationsAreLegal carries out a plan's operations in a world that fails
// now and then and loses deployments, and checks that each makes sense there.
func TestOperationsAreLegal(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	p := newPlan(7, 6)
	p.random = random
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
		if len(w) > 7 {
			t.Fatalf("%d deployments, want at most 7", len(w))
		}
	}
	for k, n := range happened {
		if n == 0 {
			t.Errorf("it never came to %q", kind(k))
		}
	}
}

func TestScalingAlwaysChangesSomething(t *testing.T) {
	for average := 1; average <= 20; average++ {
		p := newPlan(1, average)
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
