package untyped

import (
	"maps"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func compile(t testing.TB, drop ...string) *Plan {
	t.Helper()
	drops, err := gotype.NewDrops(drop)
	if err != nil {
		t.Fatal(err)
	}
	return Compile(drops)
}

// official is the reference: apimachinery's decoder, and what is dropped
// deleted afterwards.
func official(p *Plan, raw []byte) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	p.drops.ClearUntyped(m)
	return m, nil
}

// history decodes the versions of one object, and keeps what became of them.
type history struct {
	plan    *Plan
	session *share.Session
	last    map[string]any
	memo    *share.Memo
	all     []version
	// asked is what the official decoder was asked last, and said. Most bytes are
	// decoded several times in a row.
	asked struct {
		raw    string
		object map[string]any
		err    error
	}
}

// version is an object that was decoded, and the official one.
type version struct {
	object, official map[string]any
}

// official returns what the official decoder makes of raw. It may be kept, and
// not changed.
func (h *history) official(raw []byte) (map[string]any, error) {
	if h.asked.object == nil || h.asked.raw != string(raw) {
		h.asked.raw = string(raw)
		h.asked.object, h.asked.err = official(h.plan, raw)
	}
	return h.asked.object, h.asked.err
}

// next decodes another version, which must be what the official decoder says.
func (h *history) next(t *testing.T, raw []byte) Result {
	t.Helper()
	want, failed := h.official(raw)
	if failed != nil {
		t.Fatalf("the official decoder: %v, of %s", failed, raw)
	}
	behind := append(raw[:len(raw):len(raw)], ` ,{"x`...)
	r, n, err := h.plan.Decode(h.session, behind, share.VersionOf(Address(h.last), h.memo))
	if err != nil || n != len(raw) {
		t.Fatalf("%d bytes of %d, %v: %s", n, len(raw), err, raw)
	}
	if r.Same {
		// It may have what items of lists are without.
		want = maps.Clone(want)
		for _, name := range []string{"kind", "apiVersion"} {
			if v, ok := h.last[name]; ok && want[name] == nil {
				want[name] = v
			}
		}
	}
	if !reflect.DeepEqual(r.Object, want) {
		t.Fatalf("decoded\n%v, not\n%v, from\n%s\nlast\n%v", r.Object, want, raw, h.last)
	}
	if r.Same && !same(r.Object, h.last) {
		t.Fatal("Same, but not the last version")
	}
	// Whatever raw is used for next, the object does not change.
	clear(behind)
	if !r.Same {
		h.all = append(h.all, version{r.Object, want})
		h.last, h.memo = r.Object, r.Memo
	}
	return r
}

// held is the result as its holder hands it over with the next version.
func (r Result) held() share.Version { return share.VersionOf(Address(r.Object), r.Memo) }

func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// unchanged verifies that no version was written to after it was decoded.
func (h *history) unchanged(t *testing.T) {
	t.Helper()
	for _, v := range h.all {
		if !reflect.DeepEqual(v.object, v.official) {
			t.Fatalf("became\n%v, was\n%v", v.object, v.official)
		}
	}
}
