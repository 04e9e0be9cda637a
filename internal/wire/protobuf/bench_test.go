package protobuf

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// BenchmarkNextVersion decodes versions of a held pod in which the status and
// the time of one managedFields entry have changed.
func BenchmarkNextVersion(b *testing.B) {
	rounds := make([][]byte, 64)
	for r := range rounds {
		rounds[r] = podBytes(1, 1, r, false)
	}
	b.Run("kinglet", func(b *testing.B) {
		p := compile(b, podType)
		s := share.NewSession(share.NewTable(0))
		var last share.Result
		for _, raw := range rounds {
			last = mustDecode(b, p, s, raw, last)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			last = mustDecode(b, p, s, rounds[i%len(rounds)], last)
		}
	})
	b.Run("official", func(b *testing.B) { benchmarkOfficial(b, rounds) })
}

// BenchmarkNewOfKnownTemplate decodes pods that are new, of templates of which
// others are known. No pod is decoded twice with one table.
func BenchmarkNewOfKnownTemplate(b *testing.B) {
	raws := make([][]byte, 4096)
	for i := range raws {
		raws[i] = podBytes(i%8, i/8, 0, false)
	}
	b.Run("kinglet", func(b *testing.B) {
		p := compile(b, podType)
		var s *share.Session
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%len(raws) == 0 {
				b.StopTimer()
				s = share.NewSession(share.NewTable(0))
				for k := range 256 {
					mustDecode(b, p, s, podBytes(k%8, 900+k/8, 0, false), share.Result{})
				}
				b.StartTimer()
			}
			mustDecode(b, p, s, raws[i%len(raws)], share.Result{})
		}
	})
	b.Run("official", func(b *testing.B) { benchmarkOfficial(b, raws) })
}

// BenchmarkUnique decodes pods that have nothing in common.
func BenchmarkUnique(b *testing.B) {
	raws := make([][]byte, 8192)
	for i := range raws {
		raws[i] = podBytes(0, i, 0, true)
	}
	b.Run("kinglet", func(b *testing.B) {
		p := compile(b, podType)
		b.ReportAllocs()
		var s *share.Session
		for i := 0; b.Loop(); i++ {
			if i%len(raws) == 0 {
				s = share.NewSession(share.NewTable(0))
			}
			mustDecode(b, p, s, raws[i%len(raws)], share.Result{})
		}
	})
	b.Run("kinglet without a table", func(b *testing.B) {
		p := compile(b, podType)
		b.ReportAllocs()
		s := share.NewSession(nil)
		for i := 0; b.Loop(); i++ {
			mustDecode(b, p, s, raws[i%len(raws)], share.Result{})
		}
	})
	b.Run("official", func(b *testing.B) { benchmarkOfficial(b, raws) })
}

// BenchmarkHeap tells what a pod takes, 100 to a template or unique, with its memo: when it
// is new, and after three versions.
func BenchmarkHeap(b *testing.B) {
	const pods, templates = 20_000, 200
	for _, unique := range []bool{false, true} {
		name, pod := "templates", func(i, round int) []byte { return podBytes(i%templates, i/templates, round, false) }
		if unique {
			name, pod = "unique", func(i, round int) []byte { return podBytes(0, i, round, true) }
		}
		for _, rounds := range []int{1, 4} {
			b.Run(name+"/"+[]string{1: "new", 4: "changed"}[rounds], func(b *testing.B) {
				for b.Loop() {
					p := compile(b, podType)
					s := share.NewSession(share.NewTable(0))
					held := make([]share.Result, pods)
					before := heap()
					for r := range rounds {
						for i := range held {
							held[i] = mustDecode(b, p, s, pod(i, r), held[i])
						}
					}
					b.ReportMetric(float64(heap()-before)/pods, "B/pod")
					b.ReportMetric(float64(held[0].Memo.Bytes()), "B/memo")
					runtime.KeepAlive(held)
					runtime.KeepAlive(s)
				}
			})
		}
		b.Run(name+"/official", func(b *testing.B) {
			for b.Loop() {
				held := make([]*corev1.Pod, pods)
				before := heap()
				for i := range held {
					held[i] = &corev1.Pod{}
					if err := held[i].Unmarshal(pod(i, 0)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(heap()-before)/pods, "B/pod")
				runtime.KeepAlive(held)
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func mustDecode(tb testing.TB, p *Plan, s *share.Session, raw []byte, last share.Result) share.Result {
	res, _, err := p.Decode(s, raw, last.Version())
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

func benchmarkOfficial(b *testing.B, raws [][]byte) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var p corev1.Pod
		if err := p.Unmarshal(raws[i%len(raws)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBurst decodes new versions of many pods in random order, so that
// what is held is cold, as it is in a burst: the first change of each, and
// later ones, before which it is known what changes. Of the times of every 500
// it reports the one that a quarter are below, since other work on the machine
// only adds.
func BenchmarkBurst(b *testing.B) {
	const pods, templates, rounds, some = 20_000, 200, 4, 500
	raws := make([][]byte, pods*rounds)
	for i := range raws {
		raws[i] = podBytes(i/rounds%templates, i/rounds/templates, i%rounds, false)
	}
	order := rand.Perm(pods)
	var times [rounds][]time.Duration
	for b.Loop() {
		p := compile(b, podType)
		s := share.NewSession(share.NewTable(0))
		held := make([]share.Result, pods)
		for r := range rounds {
			start := time.Now()
			for n, i := range order {
				held[i] = mustDecode(b, p, s, raws[i*rounds+r], held[i])
				if n%some == some-1 {
					now := time.Now()
					times[r] = append(times[r], now.Sub(start))
					start = now
				}
			}
		}
	}
	for r, name := range []string{"new-ns", "first-ns", "second-ns", "later-ns"} {
		slices.Sort(times[r])
		b.ReportMetric(float64(times[r][len(times[r])/4].Nanoseconds())/some, name)
	}
}
