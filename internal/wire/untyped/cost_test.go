package untyped

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func TestTheSameBytesAllocateNothing(t *testing.T) {
	if raceEnabled {
		return // pools drop at random then
	}
	plan, session := compile(t), share.NewSession(share.NewTable(0))
	raw := []byte(newPods(t, 1).template(0))
	last, _, err := plan.Decode(session, raw, share.Version{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testkit.Allocs(100, func() {
		if r, _, err := plan.Decode(session, raw, last.held()); err != nil || !r.Same {
			t.Fatal(r.Same, err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// What a restart changes: the root, metadata, its array of managedFields and
// one entry, status, three conditions and a container's status with its state,
// and their arrays. That is ten maps of two to four pieces and three arrays of
// two, then text and box of some strings, and the memo: 38 when this was
// written.
func TestTheNextVersionAllocatesWhatChanged(t *testing.T) {
	if raceEnabled {
		return
	}
	plan, session := compile(t), share.NewSession(share.NewTable(0))
	p := newPods(t, 1).pod(0)
	var last Result
	n := 0
	next := func() {
		p.restart(n)
		n++
		r, _, err := plan.Decode(session, p.raw, last.held())
		if err != nil || r.Same || r.Memo == nil {
			t.Fatal(r.Same, err)
		}
		last = r
	}
	for range 100 {
		next()
	}
	if n := testkit.Allocs(1000, next); n > 44 {
		t.Fatalf("%v allocations", n)
	}
}
