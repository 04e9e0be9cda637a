package footprint

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// thing is an object with parts that it may share.
type thing struct {
	Name     string
	Template *template
	Labels   map[string]string
	Own      []byte
	Any      any
	Self     *thing
	At       time.Time
	Inner    struct{ List []*template }
	guarded  struct{ more *template }
}

type template struct {
	Text string
	List []string
}

func text(n int) string { return string(make([]byte, n)) }

// grouped are n things in groups of so many that follow each other and share a
// template; every hundredth shares a label's value.
func grouped(n, group, shared, own int) []*thing {
	all := make([]*thing, n)
	common := text(5000)
	var t *template
	for i := range all {
		if i%group == 0 {
			t = &template{Text: text(shared)}
		}
		all[i] = &thing{Name: fmt.Sprintf("thing-%06d", i), Template: t, Own: make([]byte, own+i%7)}
		if i%100 == 0 {
			all[i].Any = map[string]any{"label": common, "n": 5}
		}
	}
	return all
}

// naive counts each block of all things once.
func naive(all []*thing) (bytes int64) {
	blocks := map[uintptr]bool{}
	for _, o := range all {
		newWalker().walk(o, func(address uintptr, b int64) {
			if address == 0 || !blocks[address] {
				bytes += b
			}
			blocks[address] = true
		})
	}
	return bytes
}

func TestTheEstimateOfManyObjectsIsNearANaiveCountOfAll(t *testing.T) {
	seed := testkit.Seed(t)
	for _, c := range []struct{ n, group, shared, own int }{
		{10, 3, 1000, 100},
		{256, 10, 5000, 100},
		{20_000, 1, 1000, 300},
		{20_000, 5, 5000, 300},
		{20_000, 200, 20_000, 500},
		{20_000, 5000, 100_000, 500},
		{20_000, 20_000, 1_000_000, 500},
		{3_000, 40, 5000, 0},
	} {
		all := grouped(c.n, c.group, c.shared, c.own)
		want := naive(all)
		got := make([]float64, 40)
		for i := range got {
			e := Of(c.n, slices.Values(all), rand.New(rand.NewPCG(seed, uint64(i))))
			got[i] = float64(e.Bytes) / float64(want)
			if most := min(c.n, MaxSampled); len(e.Sampled) > most || len(e.Sampled) < most*8/10 {
				t.Errorf("%+v: %d sampled", c, len(e.Sampled))
			}
		}
		slices.Sort(got)
		t.Logf("%+v: between %.2f and %.2f of %d bytes, median %.2f", c, got[0], got[len(got)-1], want, got[len(got)/2])
		if median := got[len(got)/2]; median < 0.7 || median > 1.4 || got[0] < 0.4 || got[len(got)-1] > 4 {
			t.Errorf("%+v: between %.2f and %.2f of %d bytes, median %.2f", c, got[0], got[len(got)-1], want, median)
		}
		if c.n <= MaxSampled && got[0] != 1 {
			t.Errorf("%+v: %.3f of it", c, got[0])
		}
	}
}

func TestWhatIsCountedIsWhatTheHeapGrowsBy(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := grouped(20_000, 10, 700, 300)
	for i, o := range all {
		o.Labels = map[string]string{fmt.Sprint("key", i): fmt.Sprint("value", i), fmt.Sprint("other", i): fmt.Sprint("value", -i)}
		o.Self, o.At = o, time.Now()
		o.Inner.List = []*template{o.Template, {Text: o.Name, List: []string{o.Name, text(30)}}}
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc) - int64(len(all))*8
	if got := naive(all); got < grown*85/100 || got > grown*115/100 {
		t.Errorf("%d bytes counted, the heap grew by %d", got, grown)
	}
	runtime.KeepAlive(all)
}

// A type may write to what its private fields refer to, under a lock of its own. The
// race detector sees a look at it.
func TestWhatPrivateFieldsReferToIsNotLookedAt(t *testing.T) {
	o := &thing{At: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	want := One(o)
	o.At = o.At.In(time.Local)
	o.guarded.more = &template{}
	written := make(chan struct{})
	go func() {
		defer close(written)
		o.guarded.more.Text = text(100)
	}()
	if got := One(o); got != want {
		t.Errorf("%d bytes, and %d without what is private", got, want)
	}
	<-written
}

func TestTheLargestObjectsOfASampleComeFirst(t *testing.T) {
	all := grouped(100, 10, 100, 100)
	all[42].Own = make([]byte, 10_000)
	e := Of(len(all), slices.Values(all), rand.New(rand.NewPCG(1, 1)))
	if e.Sampled[0].Object != all[42] || e.Sampled[0].Bytes < 10_000 {
		t.Errorf("the largest is %s, of %d bytes", e.Sampled[0].Object.Name, e.Sampled[0].Bytes)
	}
	for i := range e.Sampled[1:] {
		if e.Sampled[i].Bytes < e.Sampled[i+1].Bytes {
			t.Fatal("not sorted")
		}
	}
	if e := Of(0, slices.Values([]*thing{}), nil); e.Bytes != 0 || len(e.Sampled) != 0 {
		t.Errorf("%+v of nothing", e)
	}
	// An array without memory may have any number of elements.
	if e := Of(1, slices.Values([]any{&[1 << 60]struct{ p [0]*thing }{}}), nil); e.Bytes != 0 {
		t.Errorf("%+v without memory", e)
	}
	if e := Of(2, slices.Values([]*thing{nil, nil}), nil); e.Bytes != 0 || len(e.Sampled) != 2 {
		t.Errorf("%+v of nil", e)
	}
}

func BenchmarkOf(b *testing.B) {
	all := grouped(100_000, 20, 1000, 300)
	for b.Loop() {
		Of(len(all), slices.Values(all), rand.New(rand.NewPCG(1, 1)))
	}
}
