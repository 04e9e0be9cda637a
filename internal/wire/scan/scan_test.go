package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func random(t *testing.T) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestAnExtentIsWhatANaiveScanFinds(t *testing.T) {
	r := random(t)
	for range 200_000 {
		b := shred(r, r.IntN(60))
		if r.IntN(2) == 0 {
			b = append([]byte{"{[\""[r.IntN(3)]}, b...)
		}
		checkEnd(t, b)
	}
}

func checkEnd(t *testing.T, b []byte) {
	t.Helper()
	want := naiveEnd(b)
	if got := new(Extent).End(b); got != want {
		t.Fatalf("End(%q) = %d, want %d", b, got, want)
	}
	shifted := append([]byte("x,"), b...)
	if end, ok := Value(shifted, 2); ok != (want > 0) || ok && end != want+2 {
		t.Fatalf("Value(%q) = %d, %t, want %d", b, end, ok, want)
	}
}

func TestAnExtentIsTheSameHoweverItArrives(t *testing.T) {
	r := random(t)
	for range 50_000 {
		var b []byte
		if r.IntN(4) == 0 {
			b = shred(r, r.IntN(100))
		} else {
			b = append(value(r, nil, 5), shred(r, r.IntN(10))...)
		}
		checkPieces(t, r, b)
	}
}

func checkPieces(t *testing.T, r *rand.Rand, b []byte) {
	t.Helper()
	want := naiveEnd(b)
	var e Extent
	for n := 0; ; {
		n = min(n+r.IntN(20), len(b))
		got := e.End(b[:n:n])
		if got != 0 && got != want || got == 0 && want != 0 && n > want {
			t.Fatalf("End(%q), of %q = %d, want %d", b[:n], b, got, want)
		}
		if got != 0 || n == len(b) {
			if got != want {
				t.Fatalf("End(%q) = %d, want %d", b, got, want)
			}
			return
		}
	}
}

func TestTheExtentOfValidJSONIsThatOfADecoder(t *testing.T) {
	r := random(t)
	for range 50_000 {
		b := value(r, nil, 5)
		n := len(b)
		b = append(b, ",]} "[r.IntN(4)])
		if got := new(Extent).End(b); got != n {
			t.Fatalf("End(%q) = %d, want %d", b, got, n)
		}
	}
}

// checkValid compares Valid with encoding/json's, which looks at all of b.
func checkValid(t *testing.T, b []byte) {
	t.Helper()
	end, ok := Valid(b, 0)
	if ok && !json.Valid(b[:end]) {
		t.Fatalf("Valid takes %q of %q", b[:end], b)
	}
	all := json.Valid(b)
	if all && (!ok || len(bytes.TrimRight(b, " \t\r\n")) != end) && bytes.Count(b, []byte{'['})+bytes.Count(b, []byte{'{'}) < maxDepth {
		t.Fatalf("Valid takes %d bytes, %v, of %q", end, ok, b)
	}
}

func TestAValueIsValidIfEncodingJSONTakesIt(t *testing.T) {
	r := random(t)
	for range 20_000 {
		b := value(r, nil, 4)
		checkValid(t, b)
		const telling = " \"\\{}[],:0-1.eEntfu/\x00\x1f\x7f\xc3\xff\n"
		for range 1 + r.IntN(2) {
			at := r.IntN(len(b))
			switch r.IntN(3) {
			case 0:
				b[at] = telling[r.IntN(len(telling))]
			case 1:
				b = slices.Insert(b, at, telling[r.IntN(len(telling))])
			default:
				b = append(b[:at:at], b[min(at+1+r.IntN(4), len(b)):]...)
			}
			if len(b) == 0 {
				break
			}
		}
		checkValid(t, b)
	}
	for depth := range 300 {
		b := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if _, ok := Valid(b, 0); ok != (depth > 0 && depth <= maxDepth) {
			t.Fatalf("nested %d times: %v", depth, ok)
		}
	}
}

func TestNestingNeedsNoStack(t *testing.T) {
	const n = 10_000_000
	b := bytes.Repeat([]byte("["), n)
	var e Extent
	if e.End(b) != 0 {
		t.Fatal("an end in the middle")
	}
	b = append(b, bytes.Repeat([]byte("]"), n)...)
	if got := e.End(b); got != 2*n {
		t.Fatalf("End = %d, want %d", got, 2*n)
	}
}

// official decodes a JSON string as encoding/json does.
func official(raw []byte) (string, bool) {
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func TestAStringIsWhatEncodingJSONReads(t *testing.T) {
	r := random(t)
	for range 200_000 {
		var b []byte
		switch r.IntN(3) {
		case 0:
			b = append([]byte{'"'}, shred(r, r.IntN(40))...)
		case 1:
			b = append(text(r, nil), shred(r, r.IntN(10))...)
		default:
			b = text(r, nil)
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		checkString(t, b)
	}
}

func checkString(t *testing.T, b []byte) {
	t.Helper()
	content, end, plain, ok := String(b, 0)
	if want := naiveEnd(b); len(b) == 0 || b[0] != '"' {
		if ok {
			t.Fatalf("String(%q) begins with no quote", b)
		}
		return
	} else if ok != (want > 0) || ok && end != want {
		t.Fatalf("String(%q) ends at %d, %t; want %d", b, end, ok, want)
	}
	if !ok {
		return
	}
	if !bytes.Equal(content, b[1:end-1]) {
		t.Fatalf("String(%q) has content %q", b, content)
	}
	want, valid := official(b[:end])
	got, unescaped := Unescape(nil, content)
	if unescaped != valid || valid && string(got) != want {
		t.Fatalf("Unescape(%q) = %q, %t; want %q, %t", content, got, unescaped, want, valid)
	}
	if plain != (valid && want == string(content) && !bytes.ContainsRune(content, '\\')) {
		t.Fatalf("String(%q) is plain: %t, and says %q, %t", b, plain, want, valid)
	}
}

func TestUnescapeAppends(t *testing.T) {
	got, ok := Unescape([]byte("before "), []byte(`\u00e4\ud83d\ude00\ud83dx\/`))
	if want := "before ä😀\uFFFDx/"; !ok || string(got) != want {
		t.Fatalf("%q, %t; want %q", got, ok, want)
	}
}

func TestANumberIsWhatEncodingJSONReads(t *testing.T) {
	r := random(t)
	const alphabet = "0123456789-+.eE"
	for range 200_000 {
		b := make([]byte, r.IntN(8))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		end, integer, ok := Number(b, 0)
		if valid := json.Valid(b); valid != (ok && end == len(b)) {
			t.Fatalf("Number(%q) = %d, %t; valid: %t", b, end, ok, valid)
		}
		if ok && integer == bytes.ContainsAny(b[:end], ".eE") {
			t.Fatalf("Number(%q) is an integer: %t", b[:end], integer)
		}
	}
}

func TestAnIntegerIsWhatStrconvReads(t *testing.T) {
	r := random(t)
	texts := []string{"", "-", "0", "-0", "1", "-1", "x", "1x", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999999999999999", "1.0"}
	for range 100_000 {
		texts = append(texts, fmt.Sprint(int64(r.Uint64())>>r.IntN(64)))
		texts = append(texts, fmt.Sprint(r.Uint64()>>r.IntN(3)))
	}
	for _, s := range texts {
		want, err := strconv.ParseInt(s, 10, 64)
		if got, ok := Int([]byte(s)); ok != (err == nil) || ok && got != want {
			t.Fatalf("Int(%q) = %d, %t; want %d, %v", s, got, ok, want, err)
		}
	}
	if v, ok := Int([]byte(fmt.Sprint(math.MinInt64))); !ok || v != math.MinInt64 {
		t.Fatal(v, ok)
	}
}

func TestALiteralIsOneOfThree(t *testing.T) {
	for _, s := range []string{"null", "true", "false", "nul", "tru", "fals", "nulL", "x", "", "nullx", "truefalse"} {
		end, ok := Literal([]byte(" "+s), 1)
		want := 0
		for _, word := range []string{"null", "true", "false"} {
			if strings.HasPrefix(s, word) {
				want = 1 + len(word)
			}
		}
		if ok != (want > 0) || ok && end != want {
			t.Fatalf("Literal(%q) = %d, %t; want %d", s, end, ok, want)
		}
	}
}

func TestSpaceIsThatOfJSON(t *testing.T) {
	for c := range 256 {
		b := []byte{'x', ' ', byte(c), '\n', '\t', '\r', 'y', ' '}
		want := 2
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			want = 6
		}
		if got := Space(b, 1); got != want {
			t.Fatalf("with %q: %d, want %d", byte(c), got, want)
		}
	}
	if got := Space([]byte("  "), 0); got != 2 {
		t.Fatal(got)
	}
	if got := Space([]byte("  "), 2); got != 2 {
		t.Fatal(got)
	}
}

func TestNothingAllocates(t *testing.T) {
	b := []byte(`{"a":["b\n",{"c":-12.5}]} `)
	dst := make([]byte, 0, 64)
	if n := testkit.Allocs(100, func() {
		Value(b, 0)
		String(b, 1)
		dst, _ = Unescape(dst[:0], b[7:10])
		Number(b, 17)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":["b\n",{"c":-12.5}]} `), uint64(1))
	f.Add([]byte(`"\ud83d\ude00\ud83d\\"`), uint64(2))
	f.Add([]byte(`[[[[[[["]]]]]]]"]]]]]]]`), uint64(3))
	f.Add([]byte(`-0.25E-3,`), uint64(4))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		checkEnd(t, b)
		checkPieces(t, rand.New(rand.NewPCG(seed, 0)), b)
		checkString(t, b)
		checkValid(t, b)
		if end, _, ok := Number(b, 0); ok && !json.Valid(b[:end]) {
			t.Fatalf("Number(%q)", b[:end])
		}
	})
}
