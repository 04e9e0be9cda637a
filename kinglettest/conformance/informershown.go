package conformance

import (
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"
)

// Tests of an informer's version, and of its reflector's name.

func informerVersions(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	for _, c := range []struct {
		what string
		make func() (kc.Store, kc.Controller)
	}{
		{"a shared informer", func() (kc.Store, kc.Controller) {
			informer := podInformer(im, o)
			return informer.GetStore(), informer
		}},
		{"an informer", func() (kc.Store, kc.Controller) {
			return im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: o, ObjectType: &corev1.Pod{}, Handler: &recorder{}})
		}},
	} {
		store, informer := c.make()
		versions := func(after, store1, informer1 string) {
			t.Helper()
			synctest.Wait()
			equal(t, c.what+"'s store's version "+after, store.LastStoreSyncResourceVersion(), store1)
			equal(t, c.what+"'s version "+after, informer.LastSyncResourceVersion(), informer1)
		}
		must(t, store.Add(pod("ns", "mine", at("7"))))
		versions("after a write before Run", "7", "")
		stop := running(t, informer.RunWithContext)
		at1 := strconv.Itoa(o.version)
		versions("after the list", at1, at1)
		must(t, store.Add(pod("ns", "mine", at("7"))))
		versions("after an Add", "7", at1)
		must(t, store.Update(pod("ns", "mine", at("8"))))
		versions("after an Update", "8", at1)
		must(t, store.Delete(pod("ns", "mine", at("9"))))
		versions("after a Delete", "9", at1)
		must(t, store.Replace(nil, "10"))
		versions("after a Replace", "10", at1)
		must(t, store.Replace(nil, ""))
		versions("after a Replace without a version", "", at1)
		o.put(pod("ns", "b"))
		at2 := strconv.Itoa(o.version)
		versions("after an event", at2, at2)
		stop()
	}
}
