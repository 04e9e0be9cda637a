// Package generic hands each kind to generic code of the program in another way.
package generic

import (
	"encoding/json"
	"fmt"
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/generic/lib"
)

type byName[T any] map[string]T

func (b byName[T]) json() ([]byte, error) { return json.Marshal(map[string]T(b)) }

func stored(p *corev1.Pod) ([]byte, error) {
	b := byName[*corev1.Pod]{}
	if p.Spec.NodeName != "" {
		b[p.Name] = p
	}
	return b.json()
}

type ring[T any] struct{ items []T }

func (r *ring[T]) json() ([]byte, error) { return json.Marshal(r.items) }

func appended(s *corev1.Secret) ([]byte, error) {
	var r ring[*corev1.Secret]
	r.items = append(r.items, s)
	return r.json()
}

type holder[T any] struct{ v T }

func (h *holder[T]) String() string { return fmt.Sprint(h.v) }

func set(n *corev1.Node) string {
	h := new(holder[*corev1.Node])
	h.v = n
	return h.String()
}

type list[T any] []T

func (l list[T]) dump() { fmt.Println([]T(l)) }

func converted(services []corev1.Service) {
	var l list[corev1.Service] = services
	l.dump()
}

type maps = list[*corev1.ConfigMap]

func aliased(all []*corev1.ConfigMap) { maps(all).dump() }

func show[T any](t T) { fmt.Println(t) }

func values() func(*appsv1.Deployment) { return show[*appsv1.Deployment] }

func inferred() func(*appsv1.DaemonSet) { return show }

func elsewhere(ds []*appsv1.StatefulSet) func(*appsv1.StatefulSet) {
	return lib.Show[*appsv1.StatefulSet]
}

func ranged(jobs iter.Seq[*batchv1.Job], leases iter.Seq2[*coordinationv1.Lease, bool]) {
	var x any
	for x = range jobs {
		fmt.Println(x)
	}
	for x, _ = range leases {
		fmt.Println(x)
	}
}

// named reads what metadata has.
type named[T metav1.Object] struct{ of T }

func (n named[T]) name() string { return n.of.GetName() }

func metadata(c *corev1.ConfigMap) string {
	var n named[*corev1.ConfigMap]
	n.of = c
	return n.name()
}
