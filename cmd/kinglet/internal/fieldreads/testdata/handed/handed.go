// Package handed gives objects to another package otherwise than as arguments.
package handed

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/handed/lib"
)

func sent(n *corev1.Node) { lib.Nodes <- n }

func set(s *corev1.Service, c *storagev1.StorageClass) {
	lib.Current = s
	lib.Held.Class = c
}

func iterated(pods iter.Seq[*corev1.Pod]) int { return lib.Count(pods) }

func returned(d *appsv1.Deployment) int32 {
	return lib.Call(func() *appsv1.Deployment { return d })
}

func returnedBelow(b *policyv1.PodDisruptionBudget) int32 {
	return lib.Calls{Get: func() (*policyv1.PodDisruptionBudget, error) { return b, nil }}.Run()
}

type jobs struct{ all map[string]*batchv1.Job }

func (j *jobs) Job(name string) *batchv1.Job { return j.all[name] }

func returnedByAMethod(j *jobs) int32 { return lib.Read(j) }

// The other package calls this with objects of its own.
func called() { lib.Each(func(r *rbacv1.Role) bool { return r.Name == "" }) }
