package cbor

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinglet-go/kinglet/internal/testrepeat"
	"github.com/kinglet-go/kinglet/internal/testseed"
)

// item is a random item, and how many items it has inside at most.
func item(r *rand.Rand, budget int) []byte {
	head := func(major byte, arg uint64) []byte {
		// Any of the lengths that hold it is well-formed.
		sizes := []int{1, 2, 4, 8}
		for arg>>(8*sizes[0]) != 0 && len(sizes) > 1 {
			sizes = sizes[1:]
		}
		size := sizes[r.IntN(len(sizes))]
		if arg < 24 && r.IntN(2) == 0 {
			return []byte{major<<5 | byte(arg)}
		}
		info := map[int]byte{1: 24, 2: 25, 4: 26, 8: 27}[size]
		b := []byte{major<<5 | info}
		for i := size - 1; i >= 0; i-- {
			b = append(b, byte(arg>>(8*i)))
		}
		return b
	}
	text := func(major byte) []byte {
		s := bytes.Repeat([]byte{'x'}, r.IntN(40))
		return append(head(major, uint64(len(s))), s...)
	}
	n := 0
	if budget > 0 {
		n = r.IntN(min(budget, 5))
	}
	inside := func(b []byte, count int) []byte {
		for i := range count {
			b = append(b, item(r, (budget-1)/max(count, 1)-i%2)...)
		}
		return b
	}
	switch r.IntN(10) {
	case 0:
		return head(Uint, r.Uint64N(1<<40))
	case 1:
		return head(Negative, r.Uint64N(1<<20))
	case 2:
		return text(Bytes)
	case 3:
		return text(Text)
	case 4:
		return inside(head(Array, uint64(n)), n)
	case 5:
		b := head(Map, uint64(n))
		for i := range n {
			b = append(append(b, head(Text, 1)...), byte('a'+i))
			b = inside(b, 1)
		}
		return b
	case 6:
		return append(inside([]byte{Array<<5 | 31}, n), Break)
	case 7:
		b := []byte{Text<<5 | 31}
		for range n {
			b = append(b, text(Text)...)
		}
		return append(b, Break)
	case 8:
		return append(slices.Clone(Magic), item(r, budget-1)...)
	}
	return []byte{[]byte{0xf4, 0xf5, Null}[r.IntN(3)]}
}

func TestAnItemEndsWhereItEndsHoweverItArrives(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 0))
	for range testrepeat.Times(20_000) {
		raw := item(r, 30)
		if _, err := direct.Diagnose(raw); err != nil {
			t.Fatalf("%x is no item: %v", raw, err)
		}
		behind := append(slices.Clone(raw), 0x01, 0xff)
		if n, err := End(behind); n != len(raw) || err != nil {
			t.Fatalf("%x: %d of %d bytes, %v", raw, n, len(raw), err)
		}
		var e Extent
		for have := 0; ; have += 1 + r.IntN(8) {
			n, err := e.End(behind[:min(have, len(behind))])
			if err != nil || n != 0 && n != len(raw) || n == 0 && have >= len(raw) {
				t.Fatalf("%x with %d bytes: %d, %v", raw, have, n, err)
			}
			if n > 0 {
				break
			}
		}
	}
}

func TestTheOfficialDecoderTakesNothingThatHasNoEndHere(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 0))
	taken := 0
	for range testrepeat.Times(50_000) {
		raw := item(r, 12)
		for range 1 + r.IntN(3) {
			if len(raw) > 0 {
				raw[r.IntN(len(raw))] = byte(r.Uint32())
			}
		}
		n, err := End(raw)
		if _, official := direct.Diagnose(raw); official == nil {
			taken++
			if n != len(raw) || err != nil {
				t.Fatalf("%x: %d of %d bytes, %v", raw, n, len(raw), err)
			}
		}
	}
	if taken == 0 {
		t.Error("all were malformed")
	}
}

func TestWhatNeverEndsIsAnError(t *testing.T) {
	deep := bytes.Repeat([]byte{Array<<5 | 1}, maxDepth+1)
	for _, raw := range [][]byte{{Break}, {0x1c}, {0xdf}, {Array<<5 | 2, Break}, {Map<<5 | 27, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, deep} {
		if n, err := End(raw); err == nil {
			t.Errorf("%.20x: %d", raw, n)
		}
	}
}

func TestMembersAndIdentityOfAnObject(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"name": "a", "namespace": "ns", "labels": map[string]any{"x": "y"}},
		"spec":     []any{int64(1), nil, true, 1.5, map[string]any{}},
	}
	raw, err := direct.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range [][]byte{raw, append(slices.Clone(Magic), raw...)} {
		var names []string
		if err := Members(raw, func(name, value []byte) bool {
			names = append(names, string(name))
			var v any
			if err := direct.Unmarshal(value, &v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return true
		}); err != nil || len(names) != 2 {
			t.Errorf("%v, %v", names, err)
		}
		if namespace, name, ok := IdentityOf(raw); string(namespace) != "ns" || string(name) != "a" || !ok {
			t.Errorf("%s/%s, %v", namespace, name, ok)
		}
		for cut := range raw {
			if _, _, ok := IdentityOf(raw[:cut]); ok && cut < len(raw)/3 {
				t.Errorf("identity of %d bytes of %d", cut, len(raw))
			}
		}
	}
}

func FuzzItem(f *testing.F) {
	f.Add([]byte{0xd9, 0xd9, 0xf7, 0xa1, 0x61, 'a', 0x80}, 2)
	f.Add([]byte{0x9f, 0x01, 0xff}, 1)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		n, err := End(raw)
		var e Extent
		m, _ := e.End(raw[:min(max(cut, 0), len(raw))])
		if m == 0 {
			m, _ = e.End(raw)
		}
		if err == nil && m != n {
			t.Fatalf("%d bytes at once, %d in two pieces", n, m)
		}
		_, _, _ = IdentityOf(raw)
		_ = Members(raw, func(_, _ []byte) bool { return true })
		Texts(raw, func([]byte, bool) bool { return true })
	})
}
