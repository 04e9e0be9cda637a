//go:build e2e

package programs

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// settled returns once the objects that all returns equal the server's, field
// by field. w belongs to the same informer; its history must have been legal.
func (k kind[T]) settled(t *testing.T, w *history.History, all func() []*T) {
	t.Helper()
	for {
		list, err := k.client().List(k.s.ctx, metav1.ListOptions{})
		check(t, err)
		version := list.GetResourceVersion()
		want := map[kinglet.Key]*T{}
		for i := range list.Items {
			want[history.KeyOf(&list.Items[i])] = k.typed(t, &list.Items[i])
		}
		// The last changes may be on their way.
		check(t, w.Until(k.s.ctx, "where the server is", func(last history.Objects) bool {
			for name, obj := range want {
				if held := last[name]; held == nil || newer(metaOf(obj), held.GetResourceVersion()) {
					return false
				}
			}
			for name, held := range last {
				if want[name] == nil && !newer(held, version) {
					return false
				}
			}
			return true
		}))
		got, ahead := map[kinglet.Key]*T{}, false
		for _, obj := range all() {
			got[history.KeyOf(metaOf(obj))] = obj
			ahead = ahead || newer(metaOf(obj), version)
		}
		if ahead && k.s.ctx.Err() == nil {
			continue
		}
		if diff := cmp.Diff(want, got, alike); diff != "" {
			t.Errorf("%s: server and store differ: %s", w.Name, diff)
		}
		for _, v := range w.Wrong() {
			t.Error(v)
		}
		calls, _ := w.Told()
		t.Logf("%s: told %d times", w.Name, calls)
		return
	}
}

// alike leaves out in what JSON and protobuf, lists and single objects differ:
// the kind, what is empty and what is absent, the order of names in
// managedFields.
var alike = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b metav1.TypeMeta) bool { return true }),
	cmp.Comparer(func(a, b metav1.FieldsV1) bool {
		var x, y any
		return json.Unmarshal(a.GetRawBytes(), &x) == nil && json.Unmarshal(b.GetRawBytes(), &y) == nil && reflect.DeepEqual(x, y)
	}),
}

func metaOf(obj any) metav1.Object { return obj.(metav1.Object) }

// stored are the objects of a store, in their own type.
func stored[T any](s cache.Store) func() []*T {
	return func() []*T {
		var all []*T
		for _, obj := range s.List() {
			all = append(all, obj.(*T))
		}
		return all
	}
}

// newer says that a is of a later version.
func newer(a metav1.Object, version string) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), version)
	return err == nil && order > 0
}
