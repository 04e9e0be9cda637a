// Package lib reads what other packages hand it.
package lib

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
)

var (
	Nodes   = make(chan *corev1.Node, 1)
	Current *corev1.Service
	Held    struct{ Class *storagev1.StorageClass }
)

func Count(pods iter.Seq[*corev1.Pod]) (n int) {
	for range pods {
		n++
	}
	return n
}

func Call(f func() *appsv1.Deployment) int32 { return *f().Spec.Replicas }

type Calls struct {
	Get func() (*policyv1.PodDisruptionBudget, error)
}

func (c Calls) Run() int32 {
	b, _ := c.Get()
	return b.Status.CurrentHealthy
}

type Jobs interface {
	Job(name string) *batchv1.Job
}

func Read(j Jobs) int32 { return j.Job("").Status.Active }

func Each(f func(*rbacv1.Role) bool) { f(&rbacv1.Role{}) }
