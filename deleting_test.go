package kinglet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A read waits for the end of what vanishes with the next version, and for nothing else that
// is marked.
func TestAMarkStaysUnlessThereIsNoGraceLeftAndNoFinalizer(t *testing.T) {
	at, grace := metav1.NewTime(time.Unix(1, 0)), int64(30)
	for name, c := range map[string]struct {
		m    metav1.ObjectMeta
		want bool
	}{
		"not marked":               {metav1.ObjectMeta{}, false},
		"a pod that ends at once":  {metav1.ObjectMeta{DeletionTimestamp: &at, DeletionGracePeriodSeconds: new(int64)}, false},
		"a finalizer":              {metav1.ObjectMeta{DeletionTimestamp: &at, DeletionGracePeriodSeconds: new(int64), Finalizers: []string{"a/b"}}, true},
		"a grace period":           {metav1.ObjectMeta{DeletionTimestamp: &at, DeletionGracePeriodSeconds: &grace}, true},
		"a project of OpenShift's": {metav1.ObjectMeta{DeletionTimestamp: &at}, true},
	} {
		if got := deleting(&corev1.Pod{ObjectMeta: c.m}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
