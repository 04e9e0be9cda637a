package untyped

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func decode(b *testing.B, p *Plan, s *share.Session, raw []byte, last Result) Result {
	r, _, err := p.Decode(s, raw, last.held())
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func officially(b *testing.B, raw []byte) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNextVersion decodes the next version of one of 500 held pods: a
// container was restarted.
func BenchmarkNextVersion(b *testing.B) {
	const held = 500
	pods := newPods(b, 50)
	all := make([]*pod, held)
	for i := range all {
		all[i] = pods.pod(i)
		all[i].become(i)
	}
	b.Run("kinglet", func(b *testing.B) {
		plan, session := compile(b), share.NewSession(share.NewTable(0))
		last := make([]Result, held)
		for n := range 3 * held {
			i := n % held
			all[i].restart(n)
			last[i] = decode(b, plan, session, all[i].raw, last[i])
		}
		b.ReportAllocs()
		for n := 3 * held; b.Loop(); n++ {
			i := n % held
			all[i].restart(n)
			last[i] = decode(b, plan, session, all[i].raw, last[i])
		}
	})
	b.Run("official", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			all[n%held].restart(n)
			officially(b, all[n%held].raw)
		}
	})
	b.Run("restart", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			all[n%held].restart(n)
		}
	})
}

// BenchmarkNewOfKnownTemplate decodes a new pod of one of 50 templates.
func BenchmarkNewOfKnownTemplate(b *testing.B) {
	const templates = 50
	pods := newPods(b, templates)
	all := make([]*pod, templates)
	for i := range all {
		all[i] = pods.pod(i)
	}
	b.Run("kinglet", func(b *testing.B) {
		plan, session := compile(b), share.NewSession(share.NewTable(0))
		for n := range 10 * templates {
			all[n%templates].become(n)
			decode(b, plan, session, all[n%templates].raw, Result{})
		}
		b.ReportAllocs()
		for n := 10 * templates; b.Loop(); n++ {
			all[n%templates].become(n)
			decode(b, plan, session, all[n%templates].raw, Result{})
		}
	})
	b.Run("official", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			all[n%templates].become(n)
			officially(b, all[n%templates].raw)
		}
	})
	b.Run("become", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			all[n%templates].become(n)
		}
	})
}

// BenchmarkUnique decodes pods of which each is the first of its template.
func BenchmarkUnique(b *testing.B) {
	p := newPods(b, 1).pod(0)
	next := func(n int) []byte {
		p.become(n)
		p.differ(n)
		return p.raw
	}
	b.Run("kinglet", func(b *testing.B) {
		plan, session := compile(b), share.NewSession(share.NewTable(0))
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			decode(b, plan, session, next(n), Result{})
		}
	})
	b.Run("official", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			officially(b, next(n))
		}
	})
	b.Run("differ", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			next(n)
		}
	})
}
