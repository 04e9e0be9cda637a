package mutation

import (
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

// wheel is no runtime.Object, and keeps things to itself.
type wheel struct {
	name   string
	spokes []*spoke
	extra  map[string]any
	next   *wheel
}

type spoke struct{ length int }

func TestObjectsOfAnyTypeAreCopiedByReflection(t *testing.T) {
	keyOf := func(w wheel) (store.Key, error) { return key(w.name), nil }
	w := newWorld(t, keyOf, Options[wheel]{All: true})
	shared := &spoke{1}
	a := wheel{name: "a", spokes: []*spoke{shared, {2}}, extra: map[string]any{"k": []string{"v"}}}
	b := wheel{name: "b", spokes: []*spoke{{3}, shared}}
	a.next = &wheel{name: "cycle"}
	a.next.next = a.next
	w.put(a, b)
	for range 4 {
		w.expect()
	}
	shared.length = 9
	a.extra["k"].([]string)[0] = "x"
	w.expect(`a spokes[0].length: 1 -> 9 [ns/a ns/b]`, `a extra.k[0]: "v" -> "x" [ns/a]`)
}
