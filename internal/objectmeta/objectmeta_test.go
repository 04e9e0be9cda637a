package objectmeta

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// otherName is a program's own type for namespaces.
type otherName struct{ metav1.ObjectMeta }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// With all fields known, selectors match as apimachinery's do. With fewer, the answer is
// known if and only if no value of the others would change it.
func TestSelectedIsWhatTheSelectorsMatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	for range testkit.Trials(20_000) {
		m := &metav1.ObjectMeta{Namespace: one("a", "b"), Name: one("x", "y")}
		if rnd.IntN(2) == 0 {
			m.Labels = map[string]string{"l": one("1", "2")}
		}
		var byLabels labels.Selector
		if rnd.IntN(2) == 0 {
			byLabels = labels.SelectorFromSet(labels.Set{"l": one("1", "2")})
		}
		var byFields fields.Selector
		var terms []fields.Selector
		for range rnd.IntN(4) {
			name, value := one("metadata.name", "metadata.namespace", "spec.a", "spec.b"), one("a", "b", "x", "y")
			if rnd.IntN(2) == 0 {
				terms = append(terms, fields.OneTermEqualSelector(name, value))
			} else {
				terms = append(terms, fields.OneTermNotEqualSelector(name, value))
			}
		}
		if terms != nil {
			byFields = fields.AndSelectors(terms...)
		}
		matches := func(a, b string) bool {
			set := fields.Set{"metadata.name": m.Name, "metadata.namespace": m.Namespace, "spec.a": a, "spec.b": b}
			return (byLabels == nil || byLabels.Matches(labels.Set(m.Labels))) && (byFields == nil || byFields.Matches(set))
		}
		a, b := one("a", "x", "z"), one("a", "x", "z")
		what := fmt.Sprintf("%s/%s %v by %v and %v", m.Namespace, m.Name, m.Labels, byLabels, byFields)
		got, known := Selected(m, byLabels, byFields, func(name string) (string, bool) {
			return map[string]string{"spec.a": a, "spec.b": b}[name], true
		})
		if !known || got != matches(a, b) {
			t.Fatalf("%s: %v, known %v", what, got, known)
		}
		could := map[bool]bool{}
		for _, a := range []string{"a", "b", "x", "y", "z"} {
			for _, b := range []string{"a", "b", "x", "y", "z"} {
				could[matches(a, b)] = true
			}
		}
		// Terms that contradict each other match nothing, which is not looked for.
		if got, known := Selected(m, byLabels, byFields, nil); known && (len(could) > 1 || got != could[true]) || !known && !could[false] {
			t.Fatalf("%s: %v, known %v; it could be %v", what, got, known, could)
		}
	}
}

type Namespace struct{ metav1.ObjectMeta }

func TestGoneIsWhatTheLastFinalizerLeft(t *testing.T) {
	now, grace, none := metav1.Now(), int64(30), int64(0)
	deleted := metav1.ObjectMeta{Namespace: "a", Name: "x", DeletionTimestamp: &now}
	with := func(change func(*metav1.ObjectMeta)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: deleted}
		change(&p.ObjectMeta)
		return p
	}
	clusterScoped := deleted
	clusterScoped.Namespace = ""
	untyped := func(kind string, finalizers ...any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "spec": map[string]any{"finalizers": finalizers}}}
		u.SetDeletionTimestamp(&now)
		return u
	}
	for name, tc := range map[string]struct {
		obj  metav1.Object
		gone bool
	}{
		"a pod":                       {with(func(*metav1.ObjectMeta) {}), true},
		"one that lives":              {with(func(m *metav1.ObjectMeta) { m.DeletionTimestamp = nil }), false},
		"one with a finalizer":        {with(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"f"} }), false},
		"one within its grace period": {with(func(m *metav1.ObjectMeta) { m.DeletionGracePeriodSeconds = &grace }), false},
		"one after it":                {with(func(m *metav1.ObjectMeta) { m.DeletionGracePeriodSeconds = &none }), true},
		"a namespace":                 {&corev1.Namespace{ObjectMeta: clusterScoped}, true},
		"one with content":            {&corev1.Namespace{ObjectMeta: clusterScoped, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}}}, false},
		"an unstructured one":         {untyped("Namespace"), true},
		"an unstructured one with it": {untyped("Namespace", "kubernetes"), false},
		"another kind":                {untyped("Node", "other"), true},
		"one of the program's type":   {&Namespace{ObjectMeta: clusterScoped}, false},
		"one with another name":       {&otherName{ObjectMeta: clusterScoped}, true},
		"metadata":                    {&metav1.PartialObjectMetadata{ObjectMeta: deleted}, true},
		"metadata without namespace":  {&metav1.PartialObjectMetadata{ObjectMeta: clusterScoped}, false},
	} {
		if got := Gone(tc.obj, tc.obj, schema.GroupResource{}); got != tc.gone {
			t.Errorf("%s: %v", name, got)
		}
		lives := tc.obj.GetDeletionTimestamp() == nil || len(tc.obj.GetFinalizers()) > 0 || tc.obj.GetDeletionGracePeriodSeconds() == &grace
		if got := Gone(tc.obj, tc.obj, corev1.Resource("nodes")); got == lives {
			t.Errorf("%s, of another resource than namespaces: %v", name, got)
		}
		if _, odd := tc.obj.(*otherName); odd && Gone(tc.obj, tc.obj, corev1.Resource("namespaces")) {
			t.Errorf("%s is gone", name)
		}
	}
}
