package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// Whatever the namespaces and selectors of a kind are, its store can be compared with the
// server, and what differs is found and mended.
func TestTheConsistencyOfAKindIsCheckedByItsNamespaces(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"all":        {},
		"named":      {DefaultNamespaces: spaces("a", "b", "c")},
		"the others": {DefaultNamespaces: spaces("a", cache.AllNamespaces)},
		"a field":    {DefaultNamespaces: spaces("a", cache.AllNamespaces), DefaultFieldSelector: fields.OneTermNotEqualSelector("metadata.name", "left-out")},
	} {
		for _, form := range allForms {
			t.Run(name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkByNamespaces(t, opts, form) })
			})
		}
	}
}

func checkByNamespaces(t *testing.T, opts cache.Options, form string) {
	w := newWorld(t)
	for _, ns := range []string{"a", "b", "c"} {
		w.create(configMap(ns, "one", nil), configMap(ns, "two", nil))
	}
	set := kinglet.NewSet()
	c, end := w.run(ctrlruntime.Options{Set: set}.NewCache, opts)
	defer end()
	ctx := context.Background()
	i, err := c.GetInformer(ctx, object(form, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // the list is there a moment before the watch
	sweep := func() (compared, differences int) {
		t.Helper()
		for range 10 {
			report, err := i.(kingletcache.Observable).CheckConsistency(ctx)
			if err != nil {
				t.Fatal(err)
			}
			compared, differences = compared+report.Compared, differences+report.Differences
			if report.Complete {
				return compared, differences
			}
		}
		t.Fatal("ten checks have not come to an end")
		return 0, 0
	}
	if compared, differences := sweep(); compared != 6 || differences != 0 {
		t.Errorf("compared %d objects, %d differ", compared, differences)
	}
	altered := object(form, "b", "one")
	if err := c.Get(ctx, keyed("b", "one"), altered); err != nil {
		t.Fatal(err)
	}
	altered.SetLabels(map[string]string{"altered": "yes"})
	if err := i.(toolscache.SharedIndexInformer).GetStore().Update(altered); err != nil {
		t.Fatal(err)
	}
	if compared, differences := sweep(); compared != 6 || differences != 1 {
		t.Errorf("compared %d objects, %d differ", compared, differences)
	}
	testbubble.Pass(time.Minute)
	mended := object(form, "", "") // the store has the altered one, which must not be written to
	if err := c.Get(ctx, keyed("b", "one"), mended); err != nil || len(mended.GetLabels()) != 0 {
		t.Errorf("it is not mended: %v, %v", mended.GetLabels(), err)
	}
	all, _ := set.Observed()
	if len(all) != 1 {
		t.Fatalf("the set shows %d informers", len(all))
	}
	if st := all[0].Status().Consistency; st.Sweeps != 2 || st.Differences != 1 {
		t.Errorf("the set shows %+v", st)
	}
}
