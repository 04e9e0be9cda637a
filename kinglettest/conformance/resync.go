package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// resyncTests are the part of the row "shared informer" that is about resyncs.
// A period is checked between its ends: where a resync is due at 30 s, nothing
// must have come after 29 s, and it must have come after 31 s.
func resyncTests() []test {
	return []test{
		{Sentence: "a resync tells of every object, after each period", Run: resyncPeriodic},
		{Sentence: "a handler with a period of zero gets no resync", Run: resyncNone},
		{Sentence: "a period is rounded up to a multiple of the informer's", Run: resyncRounded},
		{Sentence: "a shorter period before the start becomes the informer's", Run: resyncShorter},
		{Sentence: "a shorter period after the start becomes the informer's own", Run: resyncShorterLate},
		{Sentence: "no period is below a second", Run: resyncMinimum},
		{Sentence: "an informer without a period makes no resyncs", Run: resyncOff},
		{Sentence: "options name the period", Run: resyncOptions},
	}
}

// resyncs counts what a handler is told after a time of waiting.
func resyncs(r *recorder, d time.Duration) int {
	testbubble.Elapse(d)
	return len(r.take())
}

func periodic(im Implementation, o *origin, period time.Duration) kc.SharedIndexInformer {
	return im.NewSharedIndexInformer(o, &corev1.Pod{}, period, kc.Indexers{})
}

func withPeriod(t *testing.T, informer kc.SharedInformer, period time.Duration) *recorder {
	t.Helper()
	r := &recorder{}
	value(informer.AddEventHandlerWithResyncPeriod(r, period))(t)
	return r
}

func resyncPeriodic(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"))
	informer := periodic(im, o, 30*time.Second)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	o.asked()
	for range 3 {
		equal(t, "told before the period is over", resyncs(r, 29*time.Second), 0)
		testbubble.Elapse(time.Second)
		r.toldInAnyOrder(t, "update ns/a@101 to ns/a@101", "update ns/b@102 to ns/b@102")
	}
	equal(t, "requests", len(o.asked()), 0)
}

func resyncNone(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, 30*time.Second)
	r := withPeriod(t, informer, 0)
	running(t, informer.RunWithContext)
	r.take()
	equal(t, "told", resyncs(r, 5*time.Minute), 0)
	o.put(pod("ns", "a"))
	synctest.Wait()
	r.told(t, "update ns/a@101 to ns/a@102")
}

func resyncRounded(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, 30*time.Second)
	r := withPeriod(t, informer, 45*time.Second)
	other, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	other.take()
	equal(t, "told in 59 s", resyncs(r, 59*time.Second), 0)
	equal(t, "told in 61 s", resyncs(r, 2*time.Second), 1)
	equal(t, "told in 119 s", resyncs(r, 58*time.Second), 0)
	equal(t, "told in 121 s", resyncs(r, 2*time.Second), 1)
	equal(t, "told with the informer's period", len(other.take()), 4)
}

func resyncShorter(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, time.Minute)
	slow, _ := handle(t, informer)
	r := withPeriod(t, informer, 10*time.Second)
	running(t, informer.RunWithContext)
	r.take()
	slow.take()
	equal(t, "told in 9 s", resyncs(r, 9*time.Second), 0)
	equal(t, "told in 11 s", resyncs(r, 2*time.Second), 1)
	equal(t, "told in 59 s", resyncs(r, 48*time.Second), 4)
	equal(t, "told of the longer period in 59 s", len(slow.take()), 0)
	equal(t, "told of the longer period in 61 s", resyncs(slow, 2*time.Second), 1)
}

func resyncShorterLate(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, 30*time.Second)
	running(t, informer.RunWithContext)
	r := withPeriod(t, informer, 5*time.Second)
	synctest.Wait()
	r.take()
	equal(t, "told in 29 s", resyncs(r, 29*time.Second), 0)
	equal(t, "told in 31 s", resyncs(r, 2*time.Second), 1)
}

func resyncMinimum(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, time.Minute)
	r := withPeriod(t, informer, time.Millisecond)
	running(t, informer.RunWithContext)
	r.take()
	equal(t, "told in 0.9 s", resyncs(r, 900*time.Millisecond), 0)
	equal(t, "told in 10.5 s", resyncs(r, 9600*time.Millisecond), 10)
}

func resyncOff(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := periodic(im, o, 0)
	r := withPeriod(t, informer, 5*time.Second)
	running(t, informer.RunWithContext)
	late := withPeriod(t, informer, 5*time.Second)
	synctest.Wait()
	r.take()
	late.take()
	equal(t, "told", resyncs(r, 5*time.Minute), 0)
	equal(t, "told late", len(late.take()), 0)
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
	equal(t, "told by default", resyncs(byDefault, 61*time.Second), 2)
	equal(t, "told by name", len(named.take()), 1)
}
