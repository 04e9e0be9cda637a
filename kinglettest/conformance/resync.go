package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// resyncTests are the part of the row "shared informer" that is about resyncs.
func resyncTests() []test {
	const s, min, off = time.Second, time.Minute, time.Duration(0)
	tests := []test{
		{Sentence: "options name the period", Run: resyncOptions},
	}
	type period struct {
		sentence  string
		informers time.Duration
		own       time.Duration // the handler's
		late      bool          // the handler is added after the start
		told      map[time.Duration]int
	}
	periods := []period{
		// How many resyncs the handler receives until then. A resync that is due at 30 s must not
		// have come after 29 s, and must have after 31 s.
		{"a handler with a period of zero gets no resync", 30 * s, 0, false, map[time.Duration]int{5 * min: 0}},
		{"a period is rounded up to a multiple of the informer's", 30 * s, 45 * s, false,
			map[time.Duration]int{59 * s: 0, 61 * s: 1, 119 * s: 1, 121 * s: 2}},
		{"a shorter period before the start becomes the informer's", min, 10 * s, false,
			map[time.Duration]int{9 * s: 0, 11 * s: 1, 59 * s: 5, 61 * s: 6}},
		{"a shorter period after the start becomes the informer's own", 30 * s, 5 * s, true, map[time.Duration]int{29 * s: 0, 31 * s: 1}},
		{"no period is below a second", min, time.Millisecond, false, map[time.Duration]int{s * 9 / 10: 0, s * 21 / 2: 10}},
		{"an informer without a period makes no resyncs", off, 5 * s, false, map[time.Duration]int{5 * min: 0}},
		{"an informer without a period makes no resyncs for a handler that comes late", off, 5 * s, true, map[time.Duration]int{5 * min: 0}},
	}
	for _, informers := range []time.Duration{off, 30 * s} {
		for _, late := range []bool{false, true} {
			for own, effective := range map[time.Duration]time.Duration{math.MinInt64: informers, -1: informers, off: off, 1: s, math.MaxInt64: math.MaxInt64} {
				if late && own == 1 {
					effective = informers
				}
				told := map[time.Duration]int{}
				for _, at := range []time.Duration{s * 59 / 2, s * 61 / 2, s * 121 / 2} {
					if told[at] = 0; informers > 0 && effective > 0 {
						told[at] = int(at / effective)
					}
				}
				periods = append(periods, period{fmt.Sprintf("an informer's period of %v and a handler's of %v, late: %v", informers, own, late), informers, own, late, told})
			}
		}
	}
	for _, c := range periods {
		tests = append(tests, test{Sentence: c.sentence, Run: func(t *testing.T, im Implementation) {
			o := newOrigin(pod("ns", "a"))
			informer := im.NewSharedIndexInformer(o, &corev1.Pod{}, c.informers, kc.Indexers{})
			other, _ := handle(t, informer)
			r := &recorder{}
			add := func() { value(informer.AddEventHandlerWithResyncPeriod(r, c.own))(t) }
			if !c.late {
				add()
			}
			running(t, informer.RunWithContext)
			if c.late {
				add()
				synctest.Wait()
			}
			r.take()
			other.take()
			passed, told, others := off, 0, 0
			for _, at := range slices.Sorted(maps.Keys(c.told)) {
				testbubble.Elapse(at - passed)
				passed = at
				told += len(r.take())
				others += len(other.take())
				equal(t, "told in "+at.String(), told, c.told[at])
				if c.informers > 0 {
					equal(t, "told with the informer's period in "+at.String(), others, int(at/c.informers))
				}
			}
		}})
	}
	return tests
}

func resyncOptions(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := im.NewSharedIndexInformerWithOptions(o, &corev1.Pod{}, kc.SharedIndexInformerOptions{
		ResyncPeriod: 30 * time.Second, Indexers: podIndexers(),
	})
	byDefault, named := &recorder{}, &recorder{}
	value(informer.AddEventHandlerWithOptions(byDefault, kc.HandlerOptions{}))(t)
	minute := time.Minute
	value(informer.AddEventHandlerWithOptions(named, kc.HandlerOptions{ResyncPeriod: &minute}))(t)
	running(t, informer.RunWithContext)
	byDefault.take()
	named.take()
	testbubble.Elapse(61 * time.Second)
	equal(t, "told by default", len(byDefault.take()), 2)
	equal(t, "told by name", len(named.take()), 1)
}
