package untyped

import (
	"reflect"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func TestWhatIsDroppedIsNamedByItsPath(t *testing.T) {
	raw := []byte(`{"a":{"b":1,"c":{"b":2}},"b":3,"l":[{"b":4,"x":[{"b":5}]},[{"b":6}],7],"\u0064":8}`)
	p := compile(t, "a.b", "l.b", "d", "a.c", "a.c.b", "none.at.all")
	h := &history{plan: p, session: share.NewSession(share.NewTable(0))}
	got := h.next(t, raw).Object
	want := map[string]any{"a": map[string]any{}, "b": int64(3), "l": []any{map[string]any{"x": []any{map[string]any{"b": int64(5)}}}, []any{map[string]any{}}, int64(7)}}
	if !reflect.DeepEqual(got, want) {
		t.Fatal(got)
	}
}

func TestOnePlansValuesAreNotAnothers(t *testing.T) {
	session := share.NewSession(share.NewTable(0))
	raw := []byte(`{"spec":{"containers":[{"name":"a name that is long enough","env":[{"name":"x"}]}]}}`)
	for _, drop := range [][]string{nil, {"spec.containers.env"}, {"spec.containers.name"}, nil} {
		h := &history{plan: compile(t, drop...), session: session}
		for range 5 {
			h.last, h.memo = nil, nil
			h.next(t, raw)
		}
	}
}

// A list's items are without kind and apiVersion, which whoever cuts them out
// sets afterwards.
func TestKindAndAPIVersionMayBeMissingFromAnItem(t *testing.T) {
	item := []byte(`{"metadata":{"name":"a"},"spec":{"b":1}}`)
	event := []byte(`{"kind":"K","apiVersion":"v1","metadata":{"name":"a"},"spec":{"b":1}}`)
	other := []byte(`{"kind":"L","apiVersion":"v1","metadata":{"name":"a"},"spec":{"b":1}}`)
	h := &history{plan: compile(t), session: share.NewSession(share.NewTable(0))}
	h.next(t, item)
	if h.next(t, event).Same {
		t.Fatal("the last version has no kind, and is Same")
	}
	for _, raw := range [][]byte{item, event, item} {
		if !h.next(t, raw).Same {
			t.Fatalf("not Same: %s", raw)
		}
	}
	if h.next(t, other).Same {
		t.Fatal("of another kind, and Same")
	}
}

func TestTheOutermostMapIsFresh(t *testing.T) {
	session := share.NewSession(share.NewTable(0))
	plan := compile(t)
	raw := []byte(`{"metadata":{"name":"a name that is long enough"}}`)
	seen := map[uintptr]bool{}
	var keep []Result
	for _, raw := range [][]byte{raw, raw, raw, raw, []byte(`{}`), []byte(`{}`)} {
		r, _, err := plan.Decode(session, raw, share.Version{})
		p := reflect.ValueOf(r.Object).Pointer()
		if err != nil || seen[p] {
			t.Fatal(err, "or a map twice")
		}
		r.Object["kind"] = "K"
		seen[p] = true
		keep = append(keep, r)
	}
	for _, r := range keep {
		if r.Object["kind"] != "K" {
			t.Fatal(r)
		}
	}
}

// A result that is Same keeps the memo, of the bytes that the last version was
// decoded from. Other bytes that say the same are looked for in the table
// before they are compared.
func TestWhatIsWrittenOtherwiseMayBecomeTheTablesOnceAndIsSameFromThenOn(t *testing.T) {
	plan := compile(t)
	session := share.NewSession(share.NewTable(1 << 20))
	spaced, plain := []byte(`{"a":{"b":1, "c":"d"}}`), []byte(`{"a":{"b":1,"c":"d"}}`)
	h := &history{plan: plan, session: session}
	h.next(t, spaced)
	if !h.next(t, plain).Same {
		t.Fatal("what differs in space is not Same")
	}
	var other *history
	for range 3 {
		other = &history{plan: plan, session: session}
		other.next(t, plain)
	}
	if h.next(t, plain).Same {
		t.Fatal("the table's value was not taken")
	}
	if shared(h.last["a"]) != shared(other.last["a"]) {
		t.Fatal("two objects have two values of the same bytes")
	}
	if !h.next(t, plain).Same {
		t.Fatal("the bytes that the last version was decoded from are not Same")
	}
}

func TestWhatIsDroppedHasToBeValidJSON(t *testing.T) {
	p := compile(t, "a", "l.b")
	for _, value := range []string{
		`{"b":1}`, `[1,{"c":[]}]`, `"text"`, `5`, `null`, // valid
		`{"b":5x}`, `{"b" 1}`, `{"b":1,}`, `[1 2]`, `[1,]`, `{"b":[}`, `{"b":"\x"}`, "{\"b\":\"\n\"}", `5x`, `nul`, `"\ud8"`, `{5:1}`, `[01]`, `{"b":tru}`, `[}`,
	} {
		for _, raw := range []string{`{"a":` + value + `,"c":1}`, `{"l":[{"b":` + value + `},{}]}`} {
			s := share.NewSession(share.NewTable(0))
			var last Result
			for range 4 {
				checkBytes(t, p, s, []byte(raw), last)
				if r, _, err := p.Decode(s, []byte(raw), last.held()); err == nil && !r.Same {
					last = r
				}
			}
		}
	}
}
