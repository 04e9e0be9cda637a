package untyped

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// checkBytes decodes raw, which may be anything, with a last version that has
// much in common with it.
func checkBytes(t *testing.T, p *Plan, s *share.Session, raw []byte, last Result) {
	t.Helper()
	r, n, err := p.Decode(s, raw, last.held())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if _, whole := scan.Value(raw, scan.Space(raw, 0)); n != 0 || whole {
			t.Fatalf("%d bytes, %v: %q", n, err, raw)
		}
		return
	}
	if err == nil && n == 0 {
		t.Fatalf("nothing taken of %q", raw)
	}
	extent := raw[:n]
	if n == 0 {
		extent = raw
	}
	want, failed := official(p, extent)
	if tooLarge := (*json.UnmarshalTypeError)(nil); err == nil && p.drops != nil && errors.As(failed, &tooLarge) {
		return // a number that is too large, in what is dropped
	}
	if (err != nil) != (failed != nil) {
		t.Fatalf("%v; the official decoder: %v; of %q", err, failed, extent)
	}
	if r.Same {
		for _, name := range []string{"kind", "apiVersion"} {
			if v, ok := last.Object[name]; ok && want[name] == nil {
				want[name] = v
			}
		}
	}
	if !gotype.Identical(reflect.ValueOf(r.Object), reflect.ValueOf(want)) {
		t.Fatalf("decoded\n%v, not\n%v, from\n%q", r.Object, want, extent)
	}
}

func TestWhatIsUnusualIsLeftToTheOfficialDecoder(t *testing.T) {
	nested := func(n int) string {
		return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for _, text := range []string{
		``, ` `, `null`, `true`, `12`, `"x"`, `[]`, `[1]`, `}`, `,`, `nul`, `{}`, ` { } `, `{"a"}`, `{"a":}`, `{,}`, `{"a":1,}`, `{"a":[1,]}`, `{"a":[,1]}`,
		`{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":1,"\u0061":2}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":1e999}`,
		`{"a":9223372036854775807,"b":9223372036854775808,"c":-9223372036854775808,"d":-9223372036854775809,"e":1e5,"f":-0,"g":-0.0,"h":1.0}`,
		`{"a":"\ud83d"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\x"}`, `{"a":"\'"}`, "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"\xff\":1,\"\xfe\":2}", `{"a":nulL}`, `{"a":[}`, `{"a":[}]}`, `{"a":{]}}`,
		`{"a":{ },"b":[ ],"c":{},"d":[]}`, nested(99), nested(101), nested(9_999), nested(10_000), nested(100_000),
		`{"a":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 201), `{"kind":1,"apiVersion":null}`,
	} {
		plan, session := compile(t), share.NewSession(share.NewTable(0))
		checkBytes(t, plan, session, []byte(text), Result{})
		checkBytes(t, plan, session, []byte(text), Result{Object: map[string]any{"a": []any{}, "kind": "x"}})
		checkBytes(t, plan, new(share.Session), []byte(text), Result{})
	}
}

func TestAnObjectThatDoesNotEndTakesNothing(t *testing.T) {
	raw := []byte(newPods(t, 1).template(0))
	plan, session := compile(t), share.NewSession(share.NewTable(0))
	last, n, err := plan.Decode(session, raw, share.Version{})
	if err != nil || n != len(raw) {
		t.Fatal(n, err)
	}
	for end := range raw {
		for _, last := range []Result{{}, last} {
			r, n, err := plan.Decode(session, raw[:end:end], last.held())
			if !errors.Is(err, io.ErrUnexpectedEOF) || n != 0 || r.Object != nil || r.Memo != nil || r.Same {
				t.Fatalf("of %d bytes: %v, %d, %v", end, r, n, err)
			}
		}
	}
}

func TestManyMembersCostWhatTheyTake(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"data":{`)
	for i := range 5 * maxKept {
		fmt.Fprintf(&b, `"name-%d":{"a":%d},`, i%(5*maxKept-1), i)
	}
	raw := []byte(strings.TrimSuffix(b.String(), ",") + `}}`)
	plan, session := compile(t), share.NewSession(share.NewTable(0))
	h := &history{plan: plan, session: session}
	h.next(t, raw)
	d := plan.decoders.Get().(*decoder)
	if cap(d.members) > maxKept {
		t.Fatalf("%d members kept", cap(d.members))
	}
}

func TestTwoMembersAreNotTakenForEachOther(t *testing.T) {
	// Enough for many pairs of equal numbers of 16 bits.
	const n = 2000
	text := func(shift int) []byte {
		var b strings.Builder
		b.WriteString(`{"data":{`)
		for i := range n {
			fmt.Fprintf(&b, `"name-%d":{"of":[%d,%d]},`, i, (i+shift)%n, shift/n)
		}
		return []byte(strings.TrimSuffix(b.String(), ",") + `}}`)
	}
	h := &history{plan: compile(t), session: share.NewSession(share.NewTable(0))}
	for _, shift := range []int{0, 0, n, 1, 2, n + 2, 3, 0} {
		h.next(t, text(shift))
	}
	h.unchanged(t)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a","labels":{"b":"c"}},"status":{"conditions":[{"type":"Ready"}]}}`), []byte(`{"metadata":{"name":"a","labels":{"b":"d"}},"status":{"conditions":[{"type":"Ready"},{}]}}`))
	f.Add([]byte(`{"a":[1,1.5,-0,1e3,9223372036854775808,true,false,null,"\u00e4\ud83d"]}`), []byte(`{"a":[1,1.5,0,1e3,9223372036854775807,false,null,"\u00e4\ud83d\ude00"]}`))
	f.Add([]byte(`{"a":{"x":{"y":[{"z":{}}]}},"a":1}`), []byte(`{"a":{"x":{"y":[{"z":{"u":[]}}]}}}`))
	f.Add([]byte(`{"managedFields":{"a":1},"metadata":{"managedFields":[{"f:x":{}}]}}`), []byte(`{"metadata":{"managedFields":[{"f:y":{}}]}} {`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		plan, session := compile(t), share.NewSession(share.NewTable(1<<16))
		if len(first)%4 == 0 {
			plan = compile(t, "a", "metadata.managedFields")
		}
		checkBytes(t, plan, new(share.Session), first, Result{})
		var last Result
		for _, raw := range [][]byte{first, first, second, second, first} {
			checkBytes(t, plan, session, raw, last)
			// An object that another plan made, and one with another's memo.
			if v, err := official(plan, first); err == nil {
				checkBytes(t, plan, session, raw, Result{Object: v})
				checkBytes(t, plan, session, raw, Result{Object: v, Memo: last.Memo})
			}
			if r, _, err := plan.Decode(session, raw, last.held()); err == nil && !r.Same {
				last = r
			}
		}
	})
}
