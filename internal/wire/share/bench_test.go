package share

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// internedForBench returns a table that knows many strings, and the strings in
// random order, each in memory of its own: what a large cluster's names and
// label values are, which no cache line is warm for.
func internedForBench() (*Table, [][]byte) {
	t := NewTable(0)
	all := make([][]byte, 20_000)
	for i := range all {
		all[i] = fmt.Appendf(nil, "registry.example.com/team-%d/app", i)
	}
	for range 3 {
		for _, b := range all {
			t.String(b)
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return t, all
}

// BenchmarkStringHit looks up strings that are known.
func BenchmarkStringHit(b *testing.B) {
	t, all := internedForBench()
	b.ReportAllocs()
	i, found := 0, 0
	for b.Loop() {
		v := all[i]
		if t.Known(unsafe.String(unsafe.SliceData(v), len(v))) != nil {
			found++
		}
		if i++; i == len(all) {
			i = 0
		}
	}
	b.ReportMetric(100*float64(found)/float64(b.N), "%hit")
}

// BenchmarkStringMiss looks up strings that never come again, as unique
// identifiers and times do.
func BenchmarkStringMiss(b *testing.B) {
	t, _ := internedForBench()
	v := []byte("01234567-unique-identifier-of-an-object")
	var n uint64
	found := 0
	look := func() {
		n++
		binary.LittleEndian.PutUint64(v, n*0x9e3779b97f4a7c15)
		if t.Known(unsafe.String(unsafe.SliceData(v), len(v))) != nil {
			found++
		}
	}
	// Until what remembers sightings is as large as it becomes.
	for range 1 << 20 {
		look()
	}
	b.ReportAllocs()
	found = 0
	for b.Loop() {
		look()
	}
	b.ReportMetric(100*float64(found)/float64(b.N), "%hit")
}

// BenchmarkHit and BenchmarkMiss look up values.
func BenchmarkHit(b *testing.B) {
	t, hashes := valuesForBench()
	i, found := 0, 0
	for b.Loop() {
		if _, ok := t.Get(1, hashes[i]); ok {
			found++
		}
		if i++; i == len(hashes) {
			i = 0
		}
	}
	b.ReportMetric(100*float64(found)/float64(b.N), "%hit")
}

func BenchmarkMiss(b *testing.B) {
	t, _ := valuesForBench()
	h := Hash{A: 1}
	for b.Loop() {
		h.A += 0x9e3779b97f4a7c15
		if _, ok := t.Get(1, h); ok {
			b.Fatal("an unknown value was found")
		}
	}
}

// BenchmarkOffer offers values that never come again.
func BenchmarkOffer(b *testing.B) {
	t, _ := valuesForBench()
	h, v := Hash{A: 1}, Value{Ptr: unsafe.Pointer(new(int64))}
	offer := func() {
		h.A += 0x9e3779b97f4a7c15
		t.Offer(1, h, v, 100)
	}
	for range 1 << 20 {
		offer()
	}
	b.ReportAllocs()
	for b.Loop() {
		offer()
	}
}

func valuesForBench() (*Table, []Hash) {
	t := NewTable(0)
	hashes := make([]Hash, 20_000)
	for i := range hashes {
		hashes[i] = Hash{A: rand.Uint64(), B: rand.Uint32()}
	}
	for range 3 {
		for _, h := range hashes {
			t.Offer(1, h, Value{Ptr: unsafe.Pointer(new(int64))}, 100)
		}
	}
	return t, hashes
}

// BenchmarkSum hashes units of the usual sizes.
func BenchmarkSum(b *testing.B) {
	for _, size := range []int{32, 128, 1024, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			h, raw := newHasher(), make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				raw[0] = byte(h.Sum(raw).A)
			}
		})
	}
}
