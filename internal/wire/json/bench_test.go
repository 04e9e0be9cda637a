package json

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func podPlan(t testing.TB, drop ...string) *Plan {
	t.Helper()
	p, err := Compile(reflect.TypeFor[corev1.Pod](), drops(t, drop...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func benchOfficial(b *testing.B, raw [][]byte) {
	b.Run("official", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := utiljson.Unmarshal(raw[i%len(raw)], new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// podBytes is a pod of 9.7 KB.
func podBytes(template, i, round int) []byte {
	return encodePod(testpods.Large(template, i, round, false))
}

func encodePod(p *corev1.Pod) []byte {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return raw
}

// life is the bytes of n versions of one pod.
func life(n int) [][]byte {
	var raw [][]byte
	for round := range n {
		raw = append(raw, podBytes(1, 1, round))
	}
	return raw
}

func BenchmarkNextVersion(b *testing.B) {
	raw := life(64)
	b.Logf("%d bytes", len(raw[0]))
	b.Run("kinglet", func(b *testing.B) {
		plan, s := podPlan(b), share.NewSession(share.NewTable(0))
		var last share.Result
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			r, _, err := plan.Decode(s, raw[i%len(raw)], last.Version())
			if err != nil || r.Same {
				b.Fatal(err, r.Same)
			}
			last = r
		}
		b.ReportMetric(float64(last.Memo.Bytes()), "memo-B")
	})
	benchOfficial(b, raw)
}

// BenchmarkRelist decodes the same version again.
func BenchmarkRelist(b *testing.B) {
	raw := life(3)
	plan, s := podPlan(b), share.NewSession(share.NewTable(0))
	var last share.Result
	for _, raw := range raw {
		last, _, _ = plan.Decode(s, raw, last.Version())
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, _, err := plan.Decode(s, raw[2], last.Version()); err != nil || !r.Same {
			b.Fatal(err, r.Same)
		}
	}
}

func pods(n int) [][]byte {
	var raw [][]byte
	for i := range n {
		raw = append(raw, podBytes(i%50, i/50, 0))
	}
	return raw
}

// benchNew decodes objects that are new, to a table that knows those before.
func benchNew(b *testing.B, before, raw [][]byte) {
	b.Run("kinglet", func(b *testing.B) {
		plan := podPlan(b)
		var s *share.Session
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%len(raw) == 0 {
				// They are new but once.
				b.StopTimer()
				s = share.NewSession(share.NewTable(0))
				for _, raw := range before {
					if _, _, err := plan.Decode(s, raw, share.Version{}); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
			if _, _, err := plan.Decode(s, raw[i%len(raw)], share.Version{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shared with nobody", func(b *testing.B) {
		plan, s := podPlan(b), share.NewSession(nil)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, _, err := plan.Decode(s, raw[i%len(raw)], share.Version{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	benchOfficial(b, raw)
}

func BenchmarkNewOfKnownTemplate(b *testing.B) {
	raw := pods(2000)
	benchNew(b, raw[:200], raw[200:])
}

// BenchmarkUnique decodes pods that have no content in common.
func BenchmarkUnique(b *testing.B) {
	raw := make([][]byte, 2000)
	for i := range raw {
		raw[i] = encodePod(testpods.Large(0, i, 0, true))
	}
	benchNew(b, raw[:200], raw[200:])
}
