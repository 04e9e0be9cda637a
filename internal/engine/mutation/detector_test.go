package mutation

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/store"
)

func TestAWriteThroughOneOfThreePodsIsFoundInAllThatShareTheMemory(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{All: true})
	a, b, c, other := fullPod("a"), fullPod("b"), fullPod("c"), fullPod("other")
	b.Spec.Containers[0].Env = a.Spec.Containers[0].Env
	// The same memory, at another place of the object.
	c.Spec.InitContainers = []corev1.Container{{}, {Env: a.Spec.Containers[0].Env}}
	w.put(a, b, c, other)
	w.expect()
	b.Spec.Containers[0].Env[2].Value = "x"
	w.expect(
		`a spec.containers[0].env[2].value: "3" -> "x"`,
		`b spec.containers[0].env[2].value: "3" -> "x"`,
		`c spec.initContainers[1].env[2].value: "3" -> "x"`,
	)
	w.expect() // once a write
	b.Spec.Containers[0].Env[2].Value = "y"
	if n := len(w.check()); n != 3 {
		t.Errorf("the second write was found in %d objects", n)
	}
	if got := other.Spec.Containers[0].Env[2].Value; got != "3" {
		t.Errorf("the detector wrote %q", got)
	}
}

func TestEveryKindOfWriteIsFoundWhereItWasMade(t *testing.T) {
	for _, c := range []struct {
		path  string
		write func(p pod)
	}{
		{`metadata.labels[app]: "web" -> "x"`, func(p pod) { p.Labels["app"] = "x" }},
		{`metadata.labels[new]: absent -> "x"`, func(p pod) { p.Labels["new"] = "x" }},
		{`metadata.labels[example.com/tier]: "front" -> absent`, func(p pod) { delete(p.Labels, "example.com/tier") }},
		{`metadata.labels: map[string]string of 2 -> nil`, func(p pod) { p.Labels = nil }},
		{`metadata.annotations: nil -> map[string]string of 0`, func(p pod) { p.Annotations = map[string]string{} }},
		{`metadata.ownerReferences[0].controller: true -> false`, func(p pod) { *p.OwnerReferences[0].Controller = false }},
		{`metadata.ownerReferences[0].blockOwnerDeletion: nil -> &true`, func(p pod) { yes := true; p.OwnerReferences[0].BlockOwnerDeletion = &yes }},
		{`metadata.finalizers: nil -> []string of 1`, func(p pod) { p.Finalizers = append(p.Finalizers, "f") }},
		{`metadata.managedFields[0].time: 2026-01-02T03:04:05Z -> 2026-01-02T03:05:05Z`, func(p pod) { p.ManagedFields[0].Time.Time = p.ManagedFields[0].Time.Add(60e9) }},
		//lint:ignore SA1019 what replaces it is of Kubernetes 0.36.
		{`metadata.managedFields[0].fieldsV1.Raw[4]: "spec\":{}}" -> "xpec\":{}}"`, func(p pod) { p.ManagedFields[0].FieldsV1.Raw[4] = 'x' }},
		{`spec.nodeName: "" -> "n1"`, func(p pod) { p.Spec.NodeName = "n1" }},
		{`spec.containers: []v1.Container of 1 -> []v1.Container of 0`, func(p pod) { p.Spec.Containers = p.Spec.Containers[:0] }},
		{`spec.containers[0].resources.limits[cpu]: 500m -> 501m`, func(p pod) {
			l := p.Spec.Containers[0].Resources.Limits
			q := l[corev1.ResourceCPU]
			q.SetMilli(501)
			l[corev1.ResourceCPU] = q
		}},
		{`spec.securityContext: nil -> &v1.PodSecurityContext`, func(p pod) { p.Spec.SecurityContext = &corev1.PodSecurityContext{} }},
		{`status.podIPs[0].ip: "10.0.0.1" -> "10.0.0.2"`, func(p pod) { p.Status.PodIPs[0].IP = "10.0.0.2" }},
	} {
		w := newWorld(t, podKey, Options[pod]{All: true})
		p := fullPod("a")
		w.put(p)
		c.write(p)
		w.expect("a " + c.path)
	}
}

// common is embedded, as in a hierarchy of API types.
type common struct{ Args map[string]string }

type withCommon struct {
	metav1.ObjectMeta
	Spec struct{ common }
}

func (o *withCommon) DeepCopyObject() runtime.Object {
	c := *o
	c.Spec.Args = maps.Clone(o.Spec.Args)
	return &c
}

func (o *withCommon) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func TestAWriteToWhatIsEmbeddedIsFoundWhateverItsName(t *testing.T) {
	w := newWorld(t, func(o *withCommon) (store.Key, error) { return key(o.Name), nil }, Options[*withCommon]{All: true})
	o := &withCommon{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	o.Spec.Args = map[string]string{"a": "b"}
	w.put(o)
	o.Spec.Args["a"] = "c"
	w.expect(`a Spec.Args[a]: "b" -> "c"`)
}

func TestReadingIsNoWrite(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{All: true})
	p := fullPod("a")
	w.put(p)
	limits := p.Spec.Containers[0].Resources.Limits
	for name, q := range limits {
		_ = q.String() // caches its text
		q.AsDec()      // and changes how it is held
		limits[name] = q
	}
	p.Status.StartTime.Time = p.Status.StartTime.Local()
	p.Spec.Containers[0].Env = slices.Clone(p.Spec.Containers[0].Env)
	w.expect()
	if diff(p, fullPod("a")) != nil {
		t.Error("a pod that was read differs from one that was not")
	}
}

func TestAnObjectThatHasLeftIsWatchedForOneMoreInterval(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{All: true})
	old := fullPod("a")
	w.put(old)
	w.expect()
	next := fullPod("a")
	next.Labels = old.Labels
	w.put(next)
	old.Labels["app"] = "x"
	w.expect(
		`a metadata.labels[app]: "web" -> "x"`, // the old version
		`a metadata.labels[app]: "web" -> "x"`,
	)
	w.store.Delete(key("a"))
	w.expect()
	next.Spec.NodeName = "n2"
	w.expect(`a spec.nodeName: "" -> "n2"`)
	w.expect()
	if n := len(w.detector.watches) + len(w.detector.latest); n != 0 {
		t.Errorf("%d objects are watched, and none is stored", n)
	}
}

func TestWhatIsEnteringIsWatchedHoweverLongItTakesToStore(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{All: true})
	p := fullPod("a")
	w.detector.Entering(key("a"), p)
	for range 5 {
		w.expect()
	}
	if err := w.store.Put(p); err != nil {
		t.Fatal(err)
	}
	w.detector.Settled()
	w.expect()
	p.Spec.NodeName = "x"
	w.expect(`a spec.nodeName: "" -> "x"`)
}

func TestAnObjectThatIsPutAgainIsCopiedOnce(t *testing.T) {
	copies := 0
	w := newWorld(t, countedKey, Options[*countedPod]{All: true})
	p := &countedPod{*small(1), &copies}
	w.put(p)
	w.put(p)
	w.put(p)
	if copies != 1 {
		t.Errorf("copied %d times", copies)
	}
}

func TestAnUnstructuredObjectIsNamedByItsKindAndItsOwnNames(t *testing.T) {
	keyOf := func(u *unstructured.Unstructured) (store.Key, error) {
		return store.Key{Namespace: u.GetNamespace(), Name: u.GetName()}, nil
	}
	newObject := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Wheel",
			"metadata": map[string]any{"namespace": "ns", "name": name, "labels": map[string]any{"a.b/c": "d"}},
			"spec":     map[string]any{"spokes": []any{map[string]any{"length": int64(3)}}},
		}}
	}
	w := newWorld(t, keyOf, Options[*unstructured.Unstructured]{All: true})
	a, b, c := newObject("a"), newObject("b"), newObject("c")
	b.Object["spec"] = a.Object["spec"]
	c.Object["status"] = map[string]any{"were": a.Object["spec"].(map[string]any)["spokes"]}
	w.put(a, b, c)
	w.expect()
	a.Object["spec"].(map[string]any)["spokes"].([]any)[0].(map[string]any)["length"] = int64(4)
	w.detector.Check()
	if len(w.errs) != 3 {
		t.Fatalf("reported %v", w.errs)
	}
	want := "*unstructured.Unstructured (example.com/v1 Wheel) ns/a is read-only and was written to: " +
		"spec.spokes[0].length was 3, is 4"
	if got := w.errs[0].Error(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	w.errs = nil
	b.SetLabels(map[string]string{"x": "y"})
	w.expect(`b metadata.labels[a.b/c]: "d" -> absent`)
	a.SetLabels(nil)
	w.expect(`a metadata.labels: map[string]interface {} of 1 -> absent`)
}

func TestManyWritesAreReportedInBoundedNumbersAndNoneIsForgotten(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{All: true})
	pods := make([]pod, 2*maxErrors)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strings.Repeat("x", i+1)}}
	}
	w.put(pods...)
	w.expect()
	for _, p := range pods {
		p.Spec.NodeName = "n"
	}
	if n := len(w.check()); n != maxErrors {
		t.Errorf("first %d, want %d", n, maxErrors)
	}
	if n := len(w.check()); n != maxErrors {
		t.Errorf("then %d, want %d", n, maxErrors)
	}
	w.expect()
}

// What cannot be copied is not watched.
func TestACopyThatPanicsIsNone(t *testing.T) {
	w := newWorld(t, func(u *unstructured.Unstructured) (store.Key, error) { return key(u.GetName()), nil }, Options[*unstructured.Unstructured]{All: true})
	w.put(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"n": 3}}})
	w.expect()
	if n := len(w.detector.watches); n != 0 {
		t.Errorf("%d objects are watched", n)
	}
}
