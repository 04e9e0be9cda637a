package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// applied makes options escape to the heap, as in a read.
var applied *client.GetOptions

// Each read looks up the settings of a namespace. A read that copies nothing allocates
// what controller-runtime allocates to find the object's kind and to apply the options,
// and nothing else.
func TestAReadDoesNotAllocateForItsSettings(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"all namespaces": {},
		"named":          {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
		"the others":     {DefaultNamespaces: map[string]cache.Config{"b": {}, cache.AllNamespaces: {}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(pod("a", "p", "n1", nil))
				c, end := w.run(ctrlruntime.NewCache, opts)
				defer end()
				ctx, key, out := context.Background(), keyed("a", "p"), &corev1.Pod{}
				get := []client.GetOption{client.UnsafeDisableDeepCopy}
				least := testkit.Allocs(100, func() {
					applied = &client.GetOptions{}
					applied.ApplyOptions(get)
					if _, err := apiutil.GVKForObject(out, scheme.Scheme); err != nil {
						t.Fatal(err)
					}
				})
				read := testkit.Allocs(100, func() {
					if err := c.Get(ctx, key, out, get...); err != nil {
						t.Fatal(err)
					}
				})
				if read > least {
					t.Errorf("a read allocates %v times, controller-runtime's part of it %v times", read, least)
				}
			})
		})
	}
}
