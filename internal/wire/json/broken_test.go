package json

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// disturb changes some bytes at random. other is another object's.
func disturb(r *rand.Rand, raw, other []byte) []byte {
	const telling = " \"\\{}[],:0-1.eEntfu/\x00\x1f\x7f\xc3\xff\n"
	b := bytes.Clone(raw)
	for range 1 + r.Intn(2) {
		if len(b) < 2 {
			return b
		}
		i, j := r.Intn(len(b)), r.Intn(len(b))
		i, j = min(i, j), max(i, j)
		switch r.Intn(8) {
		case 0:
			b[i] ^= 1 << r.Intn(8)
		case 1:
			b[i] = telling[r.Intn(len(telling))]
		case 2:
			b = slices.Insert(b, i, telling[r.Intn(len(telling))])
		case 3:
			b = slices.Delete(b, i, min(j, i+8))
		case 4:
			b = b[:j]
		case 5:
			b = slices.Insert(b, j, b[i:j]...)
		case 6:
			k := r.Intn(len(other))
			b = slices.Insert(b, i, other[k:k+r.Intn(len(other)-k)]...)
		case 7:
			words := []string{"null", "true", "1e3", "-0", "01", "18446744073709551616", `"\ud800"`, `"\u0041"`, "{}", "[]", `""`, "[null]"}
			if colon := bytes.IndexByte(b[i:], ':'); colon >= 0 {
				i += colon + 1
				if end, ok := scan.Value(b, i); ok {
					b = slices.Replace(b, i, end, []byte(words[r.Intn(len(words))])...)
				}
			}
		}
	}
	return b
}

// mustAgree decodes bytes that may be anything.
func (p *Plan) mustAgree(t testing.TB, s *share.Session, raw []byte, last share.Version) (share.Result, bool) {
	t.Helper()
	r, n, err := p.Decode(s, raw, last)
	if errors.Is(err, ErrNotObject) {
		if start := scan.Space(raw, 0); raw[start] == '{' {
			t.Fatalf("an object is none: %q", raw)
		}
		return r, false
	}
	if tooLarge := (*scan.ExponentError)(nil); errors.As(err, &tooLarge) {
		return r, false // the official decoder would take hours
	}
	whole := raw
	if n > 0 {
		whole = raw[:n]
	}
	want, kind, apiVersion, wantErr := p.reference(whole)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v: error %v, the official decoder's is %v\n%q", p.root.typ, err, wantErr, raw)
	}
	if err != nil {
		if n == 0 && err != io.ErrUnexpectedEOF || n > 0 && err.Error() != wantErr.Error() {
			t.Fatalf("%v: %d bytes, error %v, the official decoder's is %v\n%q", p.root.typ, n, err, wantErr, raw)
		}
		return r, false
	}
	if !gotype.Identical(p.value(r), want) || r.Kind != kind || r.APIVersion != apiVersion {
		t.Fatalf("%v: unlike the official decoder's:\n%q\n got %s\nwant %s", p.root.typ, raw, spell(p.value(r)), spell(want))
	}
	return r, true
}

func TestDisturbedBytesAreWhatTheOfficialDecoderMakesOfThem(t *testing.T) {
	r := newRand(t)
	f := newFiller(r)
	s := share.NewSession(share.NewTable(0))
	good, bad := 0, 0
	for _, k := range compileKinds() {
		for range *objects {
			one, two := k.fresh(f), k.fresh(f)
			raw, other := encode(t, one), encode(t, two)
			held := k.plan.mustEqual(t, s, raw, share.Version{})
			for range 12 {
				b := disturb(r, raw, other)
				next, ok := k.plan.mustAgree(t, s, b, held.Version())
				k.plan.mustAgree(t, share.NewSession(nil), b, share.Version{})
				if !ok {
					bad++
					continue
				}
				good++
				if r.Intn(4) == 0 {
					held, raw = next, b
				}
			}
			want, _, _, err := k.plan.reference(raw)
			if err == nil && !reflect.DeepEqual(k.plan.value(held).Interface(), want.Interface()) {
				t.Fatalf("%v was changed after it was decoded:\n%s", k.gvk, raw)
			}
		}
	}
	t.Logf("%d were decoded, %d refused", good, bad)
	if good < bad/20 || bad < good/20 {
		t.Errorf("%d were decoded, %d refused: nothing is tested", good, bad)
	}
}
