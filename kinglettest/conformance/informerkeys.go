package conformance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// informerKeyTests are about objects with keys that no server has.
func informerKeyTests() []test {
	var tests []test
	for _, c := range []struct {
		what            string
		namespace, name string
		key             string
	}{
		{"an object without a name has its namespace and a slash for a key", "ns", "", "ns/"},
		{"an object without name and namespace has the empty key", "", "", ""},
		{"a name with a slash is part of the key", "", "a/b", "a/b"},
		{"a name with a slash is part of the key, behind the namespace", "ns", "a/b", "ns/a/b"},
		{"a namespace with a slash is part of the key", "n/s", "a", "n/s/a"},
	} {
		tests = append(tests, bothWays(c.what, func(t *testing.T, im Implementation, o *origin) {
			informerKey(t, im, o, c.namespace, c.name, c.key)
		})...)
	}
	return append(tests, bothWays("a transform may rename objects", informerRenames)...)
}

func informerKey(t *testing.T, im Implementation, o *origin, namespace, name, key string) {
	o.put(pod("ns", "other"))
	o.put(pod(namespace, name))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	testbubble.Elapse(time.Minute)
	same(t, "keys", sorted(informer.GetStore().ListKeys()), sorted([]string{"ns/other", key})...)
	at := func() string {
		item, exists, _ := informer.GetStore().GetByKey(key)
		if !exists {
			return "nothing"
		}
		return item.(*corev1.Pod).ResourceVersion
	}
	equal(t, "what is under the key", at(), "102")
	if n := len(r.take()); n != 2 {
		t.Errorf("told of %d objects", n)
	}
	o.put(pod(namespace, name, on("n1")))
	synctest.Wait()
	equal(t, "what is under the key after an update", at(), "103")
	if log := r.take(); len(log) != 1 || !strings.HasPrefix(log[0], "update ") {
		t.Errorf("told of an update: %v", log)
	}
	o.behindItsBack(func() { o.put(pod(namespace, name, on("n2"))) })
	testbubble.Elapse(time.Minute)
	equal(t, "what is under the key after another list", at(), "104")
	r.take()
	o.asked()
	testbubble.Elapse(time.Hour)
	for _, request := range o.asked() {
		if request.verb != "watch" {
			t.Errorf("in an hour of quiet there was a %v", request)
		}
	}
	o.remove(namespace, name)
	testbubble.Elapse(time.Minute)
	equal(t, "what is under the key after the delete", at(), "nothing")
	if log := r.take(); len(log) != 1 || !strings.HasPrefix(log[0], "delete ") {
		t.Errorf("told of a delete: %v", log)
	}
	same(t, "keys", informer.GetStore().ListKeys(), "ns/other")
}

func informerRenames(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	o.put(pod("ns", "Kept"))
	informer := podInformer(im, o)
	must(t, informer.SetTransform(func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.Name = strings.ToUpper(p.Name[:1]) + p.Name[1:]
		return p, nil
	}))
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.toldInAnyOrder(t, "add ns/A@101 initial", "add ns/Kept@102 initial")
	same(t, "keys", sorted(informer.GetStore().ListKeys()), "ns/A", "ns/Kept")
	o.put(pod("ns", "b"))
	o.put(pod("ns", "a"))
	o.remove("ns", "b")
	synctest.Wait()
	r.told(t, "add ns/B@103", "update ns/A@101 to ns/A@104", "delete ns/B@105")
	o.put(pod("ns", "c"))
	synctest.Wait()
	r.take()
	o.behindItsBack(func() {
		o.put(pod("ns", "a"))
		o.remove("ns", "c")
	})
	testbubble.Elapse(time.Minute)
	var log []string
	for _, line := range r.take() {
		if line != "update ns/Kept@102 to ns/Kept@102" { // see the differences
			log = append(log, line)
		}
	}
	same(t, "told after another list", sorted(log), "delete ns/C@106, final state unknown", "update ns/A@104 to ns/A@107")
	same(t, "keys", sorted(informer.GetStore().ListKeys()), "ns/A", "ns/Kept")
}
