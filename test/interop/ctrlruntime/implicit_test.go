package ctrlruntime

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func TestAReadThatMakesAnInformerIsReportedOnceWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		var kinds []string
		report := func(gvk schema.GroupVersionKind, reader string) {
			if !strings.Contains(reader, "implicit_test.go") {
				t.Errorf("the reader is %s", reader)
			}
			kinds = append(kinds, gvk.Kind)
		}
		c, end := w.run(ctrlruntime.Options{OnImplicit: report}.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		if _, err := c.GetInformer(ctx, &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err != nil {
				t.Error(err)
			}
			if err := c.List(ctx, &corev1.ConfigMapList{}); err != nil {
				t.Error(err)
			}
		}
		if strings.Join(kinds, " ") != "Pod" {
			t.Errorf("reported %v", kinds)
		}
	})
}

func TestARefusedReadMakesNoInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, end := w.run(ctrlruntime.Options{Implicit: ctrlruntime.RefuseImplicit}.NewCache, cache.Options{})
		defer end()
		var notCached *cache.ErrResourceNotCached
		if err := c.Get(context.Background(), keyed("a", "p"), &corev1.Pod{}); !errors.As(err, &notCached) || notCached.GVK != podKind {
			t.Errorf("the error is %v", err)
		}
		synctest.Wait()
		if asked := w.asked(); len(asked) > 0 {
			t.Errorf("asked for %v", asked)
		}
	})
}
