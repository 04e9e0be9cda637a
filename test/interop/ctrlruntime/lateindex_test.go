package ctrlruntime

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func TestAnIndexThatIsAddedLaterHasOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("ns", "a", map[string]string{"x": "before"}), configMap("ns", "b", map[string]string{"x": "before"}))
		r, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, "typed")
		defer end()
		ctx := context.Background()
		read := func(field, value string) (names []string) {
			var l corev1.ConfigMapList
			if err := r.List(ctx, &l, client.MatchingFields{field: value}); err != nil {
				t.Fatal(err)
			}
			for i := range l.Items {
				names = append(names, l.Items[i].Name)
			}
			return names
		}
		for n, field := range []string{"x", "y"} {
			written := fmt.Sprint("written-", n)
			if err := r.Update(ctx, configMap("ns", "a", map[string]string{"x": written})); err != nil {
				t.Fatal(err)
			}
			// The write is in reads, by the indexes of that time.
			if n > 0 && len(read("x", written)) != 1 {
				t.Error("an index that was there lacks the write")
			}
			if err := r.cache.IndexField(ctx, &corev1.ConfigMap{}, field, func(obj client.Object) []string {
				return []string{obj.GetLabels()["x"]}
			}); err != nil {
				t.Fatal(err)
			}
			if got := read(field, written); len(got) != 1 || got[0] != "a" {
				t.Errorf("index %s has %v under what was written", field, got)
			}
			if got := read(field, "before"); len(got) != 1 || got[0] != "b" {
				t.Errorf("index %s has %v under what was there before", field, got)
			}
		}
	})
}
