package untyped

import (
	"encoding/json"
	"maps"
	mathrand "math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// kinds are all of client-go's scheme; one of each type, for options have the same
// type in each group.
func kinds() []schema.GroupVersionKind {
	first := map[reflect.Type]schema.GroupVersionKind{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if other, ok := first[typ]; gvk.Version != runtime.APIVersionInternal && (!ok || gvk.String() < other.String()) {
			first[typ] = gvk
		}
	}
	all := slices.Collect(maps.Values(first))
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// eachObject calls visit with the JSON of objects of all kinds, filled at
// random.
func eachObject(t *testing.T, seed int64, visit func(raw []byte)) {
	t.Helper()
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, mathrand.NewSource(seed), scheme.Codecs)
	for _, gvk := range kinds() {
		for range *objects {
			obj, err := scheme.Scheme.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			filler.Fill(obj)
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			raw, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(gvk, err)
			}
			visit(raw)
		}
	}
}

func TestObjectsOfAllKindsAreWhatTheOfficialDecoderMakes(t *testing.T) {
	for _, test := range []struct {
		name string
		drop []string
		off  bool
	}{
		{name: "sharing"},
		{name: "sharing, some dropped", drop: []string{"metadata.managedFields", "spec.containers.env", "spec.template.spec", "metadata.annotations", "status"}},
		{name: "not sharing", off: true},
		{name: "not sharing, some dropped", drop: []string{"metadata.managedFields", "spec"}, off: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &mutation{Rand: random(t)}
			plan := compile(t, test.drop...)
			session := new(share.Session)
			if !test.off {
				session = share.NewSession(share.NewTable(1 << 20))
			}
			var all []*history
			eachObject(t, int64(r.Uint64()), func(raw []byte) {
				h := &history{plan: plan, session: session}
				h.versions(t, r, raw, test.off)
				all = append(all, h)
			})
			for _, h := range all {
				h.unchanged(t)
			}
		})
	}
}

// versions decodes raw, and versions of it.
func (h *history) versions(t *testing.T, r *mutation, raw []byte, off bool) {
	h.twice(t, raw, off)
	first := h.last
	now := copied(first)
	r.remember(first)
	for range 3 {
		now = r.version(copied(now), 0.02)
		if _, ok := now.(map[string]any); !ok {
			now = copied(first)
		}
		h.twice(t, r.encode(t, now), off)
	}
	h.twice(t, raw, off)
}

// twice decodes raw until the last version was decoded from it.
func (h *history) twice(t *testing.T, raw []byte, off bool) {
	before := h.next(t, raw).Same
	same := h.next(t, raw).Same
	if before && !same {
		// The memo was still of bytes with other space or order.
		same = h.next(t, raw).Same
	}
	if !same && !off {
		t.Fatalf("the same bytes are not Same: %s", raw)
	}
}
