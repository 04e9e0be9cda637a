package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// frontTwin is a front and its naive twin: the sorted keys.
type frontTwin struct {
	t    *testing.T
	rnd  *rand.Rand
	f    front
	keys []string
}

func (p *frontTwin) keyAt(i int) Key { return Key{Name: p.keys[i]} }

// key makes names of which some share much, some little, and some are so long
// that their text is cut.
func (p *frontTwin) key() string {
	n := p.rnd.IntN(400)
	switch n % 4 {
	case 0:
		return fmt.Sprintf("web-%03d-5d8f7c9b4-%c", n/40, 'a'+n%26)
	case 1:
		return fmt.Sprintf("web-%d-%s-%d", n%3, strings.Repeat("long", 10+n%20), n)
	case 2:
		return strings.Repeat("w", 1+n%90)
	}
	return fmt.Sprintf("w%x", n)
}

func (p *frontTwin) bytes(name string) []byte { k := Key{Name: name}; return k.appendTo(nil) }

func (p *frontTwin) enter() {
	name := p.key()
	i, found := slices.BinarySearch(p.keys, name)
	if found || len(p.keys) == nodeMax {
		return
	}
	k := p.bytes(name)
	at := p.f.locate(k, p.keyAt)
	p.keys = slices.Insert(p.keys, i, name)
	p.f.enter(at, k, p.keyAt)
}

func (p *frontTwin) leave() {
	if len(p.keys) == 0 {
		return
	}
	i := p.rnd.IntN(len(p.keys))
	p.keys = slices.Delete(p.keys, i, i+1)
	p.f.leave(i)
}

// splitAndJoin takes the entries apart, as leaves are when they are full, and
// puts them together again, as when few are left.
func (p *frontTwin) splitAndJoin() {
	n := len(p.keys)
	if n < 2 {
		return
	}
	at := 1 + p.rnd.IntN(n-1)
	var r, joined front
	r.pushFrom(&p.f, at, n)
	p.f.keep(at)
	right := func(i int) Key { return p.keyAt(at + i) }
	r.rebase(p.rnd.IntN(int(r.lcps[0])+1), right)
	a, b := p.keyAt(at-1), p.keyAt(at)
	r.setFirst(common(&a, &b), right)
	joined.pushBoth(&p.f, &r, 0, n)
	joined.base = p.f.base
	p.f = joined
}

func (p *frontTwin) verify() {
	p.t.Helper()
	f, off := &p.f, 0
	if int(f.n) != len(p.keys) {
		p.t.Fatalf("%d entries, want %d", f.n, len(p.keys))
	}
	for i, name := range p.keys {
		lcp := int(f.base)
		if i > 0 {
			lcp = commonBytes(p.bytes(p.keys[i-1]), p.bytes(name))
		}
		rest := p.bytes(name)[lcp:]
		text := f.text[off : off+f.size(i)]
		off += len(text)
		isCut := f.lens[i]&cut != 0
		if int(f.lcps[i]) != lcp || string(rest[:len(text)]) != string(text) || isCut != (len(text) < len(rest)) {
			p.t.Fatalf("entry %d, %q: lcp %d, want %d; text %q of %q, cut %t", i, name, f.lcps[i], lcp, text, rest, isCut)
		}
		if isCut && len(text) < textMin {
			p.t.Fatalf("entry %d, %q is cut to %d bytes", i, name, len(text))
		}
	}
	if off != len(f.text) {
		p.t.Fatalf("%d bytes of text, its entries have %d", len(f.text), off)
	}
}

func (p *frontTwin) look() {
	p.t.Helper()
	name := p.key()
	k := p.bytes(name)
	i, found := slices.BinarySearch(p.keys, name)
	got := p.f.locate(k, p.keyAt)
	want := spot{i: i, off: p.f.offset(i), prev: int(p.f.base), found: found}
	if i > 0 {
		want.prev = commonBytes(p.bytes(p.keys[i-1]), k)
	}
	if i < len(p.keys) {
		want.next = commonBytes(p.bytes(p.keys[i]), k)
	}
	if got != want {
		p.t.Fatalf("%q is at %+v, want %+v", name, got, want)
	}
}

func TestAFrontFindsKeysLikeASortedList(t *testing.T) {
	for base := range 3 { // all keys begin with a zero and a "w"
		seed := testkit.Seed(t)
		p := &frontTwin{t: t, rnd: rand.New(rand.NewPCG(seed, 1))}
		p.f.rebase(base, p.keyAt)
		for range 4000 {
			switch p.rnd.IntN(10) {
			case 0:
				p.splitAndJoin()
			case 1, 2, 3:
				p.leave()
			default:
				p.enter()
			}
			p.verify()
			p.look()
		}
	}
}

func TestPlaceCountsTheSmallerSlots(t *testing.T) {
	for n := range setLeafMax + 1 {
		low := make([]uint32, n)
		for i := range low {
			low[i] = uint32(2*i + 1)
		}
		for slot := range uint32(2*n + 3) {
			want, _ := slices.BinarySearch(low, slot)
			if got := place(low, slot); got != want {
				t.Fatalf("%d of %d slots are smaller than %d, want %d", got, n, slot, want)
			}
		}
	}
	if place([]uint32{0, 1<<32 - 2}, 1<<32-1) != 2 || place([]uint32{1<<32 - 1}, 0) != 0 {
		t.Error("the largest numbers are compared wrongly")
	}
}
