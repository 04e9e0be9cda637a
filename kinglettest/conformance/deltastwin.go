package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

// deltasEqualLists acts as an informer: it writes what it pops into the store that the
// queue knows.
func deltasEqualLists(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	store := im.NewStore(func(obj any) (string, error) {
		if d, ok := obj.(kc.DeletedFinalStateUnknown); ok {
			return d.Key, nil
		}
		return keyOfKeyed(obj)
	})
	q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{KeyFunction: keyOfKeyed, KnownObjects: store, EmitDeltaTypeReplaced: true})
	twin := map[string][]string{}
	newest := map[string]any{} // of what is queued
	put := func(key, what string, obj any) { twin[key] = append(twin[key], what); newest[key] = obj }
	for step := range 2000 {
		k := keyed{fmt.Sprint("k", r.IntN(8)), step}
		_, isKnown, _ := store.GetByKey(k.key)
		switch n := r.IntN(100); {
		case n < 25:
			must(t, q.Add(k))
			put(k.key, fmt.Sprint("Added ", k), k)
		case n < 45:
			must(t, q.Update(k))
			put(k.key, fmt.Sprint("Updated ", k), k)
		case n < 60:
			must(t, q.Delete(k))
			if !isKnown && len(twin[k.key]) == 0 {
				break
			}
			if d := twin[k.key]; len(d) > 0 && strings.HasPrefix(d[len(d)-1], "Deleted") {
				if strings.HasSuffix(d[len(d)-1], "unknown") {
					d[len(d)-1], newest[k.key] = fmt.Sprint("Deleted ", k), k
				}
				break
			}
			put(k.key, fmt.Sprint("Deleted ", k), k)
		case n < 64:
			list := []any{keyed{"k0", step}, keyed{"k1", step}}
			must(t, q.Replace(list, fmt.Sprint(step)))
			for key := range twin {
				if d := twin[key]; key != "k0" && key != "k1" && !strings.HasPrefix(d[len(d)-1], "Deleted") {
					put(key, fmt.Sprintf("Deleted %v of %s unknown", newest[key], key), newest[key])
				}
			}
			for _, key := range store.ListKeys() {
				if obj, _, _ := store.GetByKey(key); key != "k0" && key != "k1" && len(twin[key]) == 0 {
					put(key, fmt.Sprintf("Deleted %v of %s unknown", obj, key), obj)
				}
			}
			put("k0", fmt.Sprint("Replaced ", list[0]), list[0])
			put("k1", fmt.Sprint("Replaced ", list[1]), list[1])
		case n < 68:
			must(t, q.Resync())
			for _, key := range store.ListKeys() {
				if obj, _, _ := store.GetByKey(key); len(twin[key]) == 0 {
					put(key, fmt.Sprint("Sync ", obj), obj)
				}
			}
		case len(twin) > 0:
			_, err := q.Pop(func(obj any, _ bool) error {
				key, _ := q.KeyOf(obj)
				if got, want := say(obj), strings.Join(twin[key], ", "); got != want {
					t.Fatalf("step %d: popped %s, want %s", step, got, want)
				}
				delete(twin, key)
				delete(newest, key)
				if d := obj.(kc.Deltas).Newest(); d.Type == kc.Deleted {
					return store.Delete(d.Object)
				} else {
					return store.Add(d.Object)
				}
			})
			must(t, err)
		}
	}
	var want []string
	for _, key := range slices.Sorted(maps.Keys(twin)) {
		want = append(want, strings.Join(twin[key], ", "))
	}
	same(t, "the rest", sorted(left(t, q)), sorted(want)...)
}
