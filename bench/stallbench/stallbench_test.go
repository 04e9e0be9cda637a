package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func small() *options {
	return &options{events: 5000, steady: 200, rate: 10_000, keys: 40, runs: 1, seed: uint64(time.Now().UnixNano())}
}

// TestBothEnginesPassTheirOwnExamination runs every arm at a small size.
func TestBothEnginesPassTheirOwnExamination(t *testing.T) {
	o := small()
	t.Logf("seed %d", o.seed)
	report := newReport(o)
	for name := range engines {
		for _, stalled := range []bool{false, true} {
			o.engine, o.stalled = name, stalled
			out, err := measure(t.Context(), o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(out.Wrong) > 0 {
				t.Errorf("%s, stalled %v: %s", name, stalled, strings.Join(out.Wrong, "\n"))
			}
			if stalled && (out.Owed == 0 || out.Told < out.Owed) {
				t.Errorf("%s: %d deletes were owed, %d calls made", name, out.Owed, out.Told)
			}
			if name == "kinglet" && stalled && (out.MaxPending < o.keys/2 || out.MaxPending > o.keys || out.MaxInFlight != 1) {
				t.Errorf("at most %d records were pending, %d in flight", out.MaxPending, out.MaxInFlight)
			}
			if out.Rate <= 0 || out.SteadyP99 < out.SteadyP50 {
				t.Errorf("%s: measured %+v", name, out)
			}
			report.Outcomes = append(report.Outcomes, out)
		}
	}
	var b bytes.Buffer
	report.print(&b)
	if !strings.Contains(b.String(), "no guarantee violated") {
		t.Errorf("the report says:\n%s", b.String())
	}
}

func at(name string, uid types.UID, version string) object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: version}}
}

// TestAListenerNoticesWhateverIsWrongWithAHistory gives it one fault at a
// time.
func TestAListenerNoticesWhateverIsWrongWithAHistory(t *testing.T) {
	h := newHistory(1, 2, 1)
	first := h.list()
	right := func(l *listener) {
		for _, obj := range first {
			l.added(obj, true)
		}
	}
	a := h.names[0]
	for name, tell := range map[string]func(*listener){
		"added twice":              func(l *listener) { right(l); l.added(first[0], false) },
		"not told of":              func(l *listener) { l.added(first[0], true) },
		"told of another UID":      func(l *listener) { l.added(at(a, "other", "1"), true); l.added(first[1], true) },
		"updated unknown":          func(l *listener) { l.updated(first[0], first[0]); l.added(first[1], true) },
		"updated to another UID":   func(l *listener) { right(l); l.updated(first[0], at(a, "other", "3")) },
		"updated backwards":        func(l *listener) { right(l); l.updated(first[0], at(a, "uid-1", "0")) },
		"updated from another":     func(l *listener) { right(l); l.updated(first[1], at(a, "uid-1", "3")) },
		"deleted unknown":          func(l *listener) { right(l); l.deleted(at("c", "c", "3")) },
		"deleted what is alive":    func(l *listener) { right(l); l.deleted(first[0]) },
		"deleted and added at end": func(l *listener) { right(l); l.deleted(first[0]); l.added(first[0], false) },
	} {
		l := newListener(name, h, 10)
		tell(l)
		if _, wrong := l.judge(first); len(wrong) == 0 {
			t.Errorf("%s went unnoticed", name)
		}
	}
	l := newListener("right", h, 10)
	right(l)
	if _, wrong := l.judge(first); len(wrong) > 0 {
		t.Errorf("what is right is said to be wrong: %v", wrong)
	}

	// A delete that is owed and never delivered.
	h.died[first[0].UID] = true
	h.lives[0] = life{}
	owed, wrong := l.judge(first)
	if owed != 1 || len(wrong) == 0 {
		t.Errorf("a lost delete went unnoticed: %d owed, %v", owed, wrong)
	}
}

// TestAPercentileIsAtMostASixteenthTooLarge compares with exact values.
func TestAPercentileIsAtMostASixteenthTooLarge(t *testing.T) {
	for _, v := range []uint64{0, 1, 15, 16, 31, 32, 33, 1000, 4095, 4096, 1 << 40, 1<<40 + 12345} {
		if up := upper(step(v)); up < v || up > v+v/16 {
			t.Errorf("%d stands in a step up to %d", v, up)
		}
	}
	var d delays
	for i := range 1000 {
		d.add(time.Duration(i+1) * time.Microsecond)
	}
	for _, p := range []float64{50, 99} {
		exact := time.Duration(p*10) * time.Microsecond
		if got := d.percentile(p); got < exact || got > exact+exact/16+time.Microsecond {
			t.Errorf("the %v percentile of 1 to 1000 µs is %v", p, got)
		}
	}
}
