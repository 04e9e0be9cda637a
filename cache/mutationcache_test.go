package cache

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// ownWrites are a mutation cache and the store below it.
type ownWrites struct {
	*mutationCache
	t     *testing.T
	store Indexer
}

func newOwnWrites(t *testing.T, opts mutationCacheOptions) *ownWrites {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"labels": byLabels})
	opts.Indexer = s
	return &ownWrites{newMutationCache(klog.Background(), s, opts), t, s}
}

func versionOfUID(version int, uid types.UID) *corev1.ConfigMap {
	c := configMap("a", "1", version)
	c.UID = uid
	c.Labels = map[string]string{"l": "x"}
	return c
}

// shows checks which version is shown, by key and by index; 0 is none.
func (w *ownWrites) shows(when string, want int) {
	w.t.Helper()
	got, ok, err := w.GetByKey("a/1")
	byIndex, indexErr := w.ByIndex("labels", "x")
	switch {
	case err != nil || indexErr != nil:
		w.t.Errorf("%s: %v, %v", when, err, indexErr)
	case want == 0:
		if ok || len(byIndex) != 0 {
			w.t.Errorf("%s: shown are %v and %v", when, got, byIndex)
		}
	case !ok || got.(*corev1.ConfigMap).ResourceVersion != configMap("", "", want).ResourceVersion:
		w.t.Errorf("%s: shown is %v, want version %d", when, got, want)
	case len(byIndex) != 1 || byIndex[0] != got:
		w.t.Errorf("%s: the index shows %v, not %v", when, byIndex, got)
	}
}

func TestTheNewerOfStoreAndOwnWriteIsShown(t *testing.T) {
	w := newOwnWrites(t, mutationCacheOptions{})
	w.Mutation(versionOfUID(9, "u"))
	w.shows("an object that the store never had", 0)
	add(t, w.store, versionOfUID(8, "u"))
	w.shows("the store is behind", 9)
	w.Mutation(versionOfUID(10, "u"))
	w.Mutation(versionOfUID(9, "u"))
	w.shows("a later write, told before an earlier one", 10)
	add(t, w.store, versionOfUID(11, "u"))
	w.shows("the store is ahead", 11)
	add(t, w.store, versionOfUID(8, "u"))
	w.shows("what was overtaken is forgotten", 8)
}

func TestAnOwnCreationIsShownUntilItIsKnownToBeGone(t *testing.T) {
	w := newOwnWrites(t, mutationCacheOptions{IncludeAdds: true})
	w.Mutation(versionOfUID(5, "u"))
	w.shows("told", 5)
	w.shows("told, and looked at once", 5)
	w.OnDelete(versionOfUID(6, "u"))
	w.shows("deleted", 0)
	w.Mutation(versionOfUID(7, "u"))
	w.shows("an update that was overtaken by the delete", 0)
	w.Mutation(versionOfUID(8, "v"))
	w.shows("created again", 8)
	w.OnDelete(versionOfUID(7, "u"))
	w.shows("the delete of the object before, once more", 8)
	w.OnAddOrUpdate(versionOfUID(9, "v"))
	w.shows("the store has seen a newer one, and deleted it", 0)
}

func TestAnOwnWriteIsForgottenAfterItsTimeOrWhenThereAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newOwnWrites(t, mutationCacheOptions{IncludeAdds: true, MaxCacheSize: 2})
		w.Mutation(versionOfUID(5, "u"))
		testbubble.Elapse(5*time.Minute - time.Second)
		w.shows("before its time is over", 5)
		testbubble.Elapse(2 * time.Second)
		w.shows("after it", 0)
		w.Mutation(versionOfUID(6, "u"))
		w.Mutation(configMap("a", "2", 7))
		w.Mutation(configMap("a", "3", 8))
		w.shows("two came after it", 0)
	})
}

func TestWhatHasNoComparableVersionIsShownAsTheStoreHasIt(t *testing.T) {
	w := newOwnWrites(t, mutationCacheOptions{})
	odd, stored := versionOfUID(5, "u"), versionOfUID(1, "u")
	odd.ResourceVersion = "x"
	add(t, w.store, stored)
	w.Mutation(odd)
	w.shows("an own write that cannot be compared", 1)
	w.Mutation("no object")
	w.shows("something without a key", 1)
	c := NewIntegerResourceVersionMutationCache(klog.Background(), w.store, nil, 0, true)
	if _, err := c.ByIndex("labels", "x"); err == nil {
		t.Error("ByIndex without an Indexer does not fail")
	}
	if _, err := w.ByIndex("none", "x"); err == nil {
		t.Error("ByIndex without the index does not fail")
	}
}

func TestVersionsAreComparedAsNumbersOfAnyLength(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		order int
		ok    bool
	}{
		{"1", "2", -1, true}, {"10", "9", 1, true}, {"7", "007", 0, true}, {"", "0", 0, true}, {"", "1", -1, true},
		{"99999999999999999999999", "100000000000000000000000", -1, true}, {"a", "1", 0, false}, {"1", "-1", 0, false},
	} {
		if order, ok := compareVersions(c.a, c.b); order != c.order || ok != c.ok {
			t.Errorf("%q and %q: %d, %t", c.a, c.b, order, ok)
		}
		if order, ok := compareVersions(c.b, c.a); order != -c.order || ok != c.ok {
			t.Errorf("%q and %q: %d, %t", c.b, c.a, order, ok)
		}
	}
}
