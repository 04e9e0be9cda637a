//go:build !race

package json

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// allocations returns what one call of f allocates: how often, and bytes.
func allocations(t *testing.T, n int, f func()) (times, size float64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}

func TestANextVersionAllocatesWhatChanged(t *testing.T) {
	raw := life(64)
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	var last share.Result
	i := 0
	next := func() {
		r, _, err := plan.Decode(s, raw[i%len(raw)], last.Version())
		if err != nil {
			t.Fatal(err)
		}
		last, i = r, i+1
	}
	for range len(raw) {
		next()
	}
	// The Pod 1.2 KB, its memo 0.5, slices of managedFields, conditions and
	// container statuses 1.3, a version, a container ID, two times.
	times, size := allocations(t, 1000, next)
	t.Logf("%.1f allocations, %.0f bytes; the memo has %d", times, size, last.Memo.Bytes())
	if times > 14 || size > 3800 {
		t.Errorf("%.1f allocations, %.0f bytes, of at most 14 and 3800", times, size)
	}
}

func TestANewObjectOfAKnownTemplateAllocatesWhatIsItsOwn(t *testing.T) {
	raw := pods(1000)
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	i := 0
	next := func() {
		if _, _, err := plan.Decode(s, raw[i%len(raw)], share.Version{}); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range 200 {
		next()
	}
	times, size := allocations(t, 800, next)
	t.Logf("%.1f allocations, %.0f bytes", times, size)
	if times > 40 || size > 6000 {
		t.Errorf("%.1f allocations, %.0f bytes, of at most 40 and 6000", times, size)
	}
}

func TestWhatChangedOnceAndIsKnownByNowAllocatesNextToNothing(t *testing.T) {
	// What is open in its memo is decoded to be compared.
	raw := life(3)
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	var last share.Result
	for _, b := range raw {
		r, _, err := plan.Decode(s, b, last.Version())
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	again := func() {
		if r, _, err := plan.Decode(s, raw[2], last.Version()); err != nil || !r.Same {
			t.Fatalf("the same: %v, %v", r.Same, err)
		}
	}
	want := (*corev1.Pod)(last.Object).DeepCopy()
	again()
	// A time or two, of 24 bytes. The pod alone takes 1280, its slices as much.
	times, size := allocations(t, 1000, again)
	t.Logf("%.1f allocations, %.0f bytes", times, size)
	if times > 4 || size > 200 {
		t.Errorf("%.1f allocations, %.0f bytes, of at most 4 and 200", times, size)
	}
	if !reflect.DeepEqual(want, (*corev1.Pod)(last.Object)) {
		t.Error("what is held has changed")
	}
}

func TestWhatIsKnownAllocatesNothing(t *testing.T) {
	raw := podBytes(1, 1, 0)
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	held, _, err := plan.Decode(s, raw, share.Version{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testkit.Allocs(100, func() {
		if r, _, err := plan.Decode(s, raw, held.Version()); err != nil || !r.Same {
			t.Fatal(err)
		}
		if _, ok := IdentityOf(raw); !ok {
			t.Fatal("no identity")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
