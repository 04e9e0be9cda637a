package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// byHandTests are about programs that write into the store of a running informer.
func byHandTests() []test {
	var tests []test
	for _, w := range byHandWrites() {
		tests = append(tests, test{
			Sentence: "what the watch deletes is told to the handlers, though " + w.what,
			Run:      func(t *testing.T, im Implementation) { informerDeleteToldByHand(t, im, w.write) },
		})
	}
	return append(tests, test{
		Sentence: "what is written by hand is the Old of the next update", Run: informerUpdateByHand,
	})
}

// byHandWrite is a program's write to an object of an informer's store.
type byHandWrite struct {
	what  string
	write func(t *testing.T, store kc.Indexer, a *corev1.Pod)
}

func byHandWrites() []byHandWrite {
	return []byHandWrite{
		{"nobody wrote it", func(*testing.T, kc.Indexer, *corev1.Pod) {}},
		{"it was deleted by hand", func(t *testing.T, s kc.Indexer, a *corev1.Pod) { must(t, s.Delete(a)) }},
		{"it was deleted by hand twice", func(t *testing.T, s kc.Indexer, a *corev1.Pod) {
			must(t, s.Delete(a))
			must(t, s.Delete(a))
		}},
		{"all was replaced by nothing", func(t *testing.T, s kc.Indexer, _ *corev1.Pod) { must(t, s.Replace(nil, "1")) }},
		{"it was deleted by a transaction", func(t *testing.T, s kc.Indexer, a *corev1.Pod) {
			if err := s.(kc.TransactionStore).Transaction(kc.Transaction{Object: a, Type: kc.TransactionTypeDelete}); err != nil {
				t.Error(err)
			}
		}},
		{"it was deleted and added by hand", func(t *testing.T, s kc.Indexer, a *corev1.Pod) {
			must(t, s.Delete(a))
			must(t, s.Add(a))
		}},
		{"it was deleted, added and deleted by hand", func(t *testing.T, s kc.Indexer, a *corev1.Pod) {
			must(t, s.Delete(a))
			must(t, s.Add(a))
			must(t, s.Delete(a))
		}},
		{"it was updated by hand", func(t *testing.T, s kc.Indexer, a *corev1.Pod) { must(t, s.Update(a)) }},
	}
}

func informerDeleteToldByHand(t *testing.T, im Implementation, write func(*testing.T, kc.Indexer, *corev1.Pod)) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	first, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	second, _ := handle(t, informer)
	synctest.Wait()
	for _, r := range []*recorder{first, second} {
		r.told(t, "add ns/a@101 initial")
	}
	write(t, informer.GetIndexer(), pod("ns", "a", at("101")))
	synctest.Wait()
	o.remove("ns", "a")
	synctest.Wait()
	o.put(pod("ns", "a"))
	synctest.Wait()
	for _, r := range []*recorder{first, second} {
		r.told(t, "delete ns/a@102", "add ns/a@103")
	}
}

func informerUpdateByHand(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	must(t, informer.GetStore().Update(pod("ns", "a", at("7"), identity("uid-101"))))
	synctest.Wait()
	r.told(t)
	o.put(pod("ns", "a"))
	synctest.Wait()
	r.told(t, "update ns/a@7 to ns/a@102")
}

// removedByHand deletes an object from the store that one handler has received, and
// returns what that handler and one that was added after the delete receive from next.
func removedByHand(t *testing.T, im Implementation, o *origin, next func()) string {
	informer := podInformer(im, o)
	early, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	synctest.Wait()
	early.told(t, "add ns/a@101 initial")
	must(t, informer.GetStore().Delete(pod("ns", "a")))
	late, _ := handle(t, informer)
	synctest.Wait()
	next()
	synctest.Wait()
	return "early: " + strings.Join(early.take(), "; ") + "; late: " + strings.Join(late.take(), "; ")
}

func removedByHandChanges(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a"))
	return removedByHand(t, im, o, func() { o.put(pod("ns", "a")) })
}

func removedByHandUnseen(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a"))
	return removedByHand(t, im, o, func() {
		o.behindItsBack(func() { o.remove("ns", "a") })
		testbubble.Elapse(time.Minute)
	})
}

func putByHand(t *testing.T, im Implementation) string {
	informer := podInformer(im, newOrigin(pod("ns", "lives")))
	for _, name := range []string{"gone", "lives"} {
		must(t, informer.GetStore().Add(pod("ns", name, at("7"))))
	}
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	synctest.Wait()
	told := r.take()
	slices.Sort(told)
	return strings.Join(told, "; ")
}
