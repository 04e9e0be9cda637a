package scan

import (
	"os"
	"testing"
)

func pod(b *testing.B) []byte {
	b.Helper()
	raw, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	return raw
}

func BenchmarkValue(b *testing.B) {
	raw := pod(b)
	for b.Loop() {
		if end, ok := Value(raw, 0); !ok || end != len(raw) {
			b.Fatal(end, ok)
		}
	}
}

// BenchmarkValueNaive is byte by byte.
func BenchmarkValueNaive(b *testing.B) {
	raw := pod(b)
	for b.Loop() {
		if end := naiveEnd(raw); end != len(raw) {
			b.Fatal(end)
		}
	}
}

// BenchmarkStrings reads every string of a pod: names are 10 bytes long.
func BenchmarkStrings(b *testing.B) {
	raw := pod(b)
	for b.Loop() {
		for i := 0; i < len(raw); {
			if raw[i] != '"' {
				i++
				continue
			}
			_, end, _, ok := String(raw, i)
			if !ok {
				b.Fatal(i)
			}
			i = end
		}
	}
}
