//go:build e2e

package programs

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// testDefinition runs informers of a resource through all that can happen to
// its definition. There are two pairs, one after the other, only because an
// informer that was refused often waits longer before it asks again.
func testDefinition(t *testing.T, s *server, _ *kinglettest.Cluster) {
	s.createNamespace(t, "books")
	began := time.Now()
	step := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) }
	testChangedDefinition(t, s, step)
	testDeletedDefinition(t, s, step)
}

// testChangedDefinition leaves Ledgers x and y.
func testChangedDefinition(t *testing.T, s *server, step func(string)) {
	cfg := rest.CopyConfig(s.config)
	cfg.Wrap(source.WrapTransport)
	p := startPair(s.ctx, cfg)
	defer p.end()
	step("before there is a definition")
	p.refused(t)
	p.each(func(o *observer) {
		if o.HasSynced() {
			t.Errorf("%s: synced with what does not exist", o.Name)
		}
	})

	step("defined")
	s.define(t, ledgerDefinition(t))
	first := kind[unstructured.Unstructured]{s, ledgersV1, "books"}
	for _, name := range []string{"x", "y", "z"} {
		first.write(t, name, 10)
	}
	p.has(t, "x", "y", "z")
	p.each(func(o *observer) {
		if !cache.WaitForCacheSync(p.ctx.Done(), o.HasSynced) {
			t.Errorf("%s: not synced", o.Name)
		}
	})

	step("changed: another version, another field")
	s.redefine(t, ledgerName, addVersion)
	second := kind[unstructured.Unstructured]{s, ledgersV2, "books"}
	newest := dynamicObserver(s.config, ledgersV2)
	p.running.Go(func() { newest.RunWithContext(p.ctx) })
	newest.has(t, p.ctx, "x", "y", "z")
	second.patch(t, "x", `{"keeper":"Ann"}`)
	for _, o := range []*observer{p.whole, newest} {
		check(t, o.Until(p.ctx, "told of Ann", func(last history.Objects) bool {
			return last[kinglet.Key{Namespace: "books", Name: "x"}].(*unstructured.Unstructured).Object["keeper"] == "Ann"
		}))
	}

	step("a version is no longer served: what is known stays")
	p.each((*observer).seen)
	s.redefine(t, ledgerName, serve(false))
	p.refused(t)
	second.delete(t, "z")
	second.delete(t, "y")
	second.write(t, "y", 11)
	newest.has(t, p.ctx, "x", "y")
	p.has(t, "x", "y", "z")
	s.redefine(t, ledgerName, serve(true))
	// They are told before s is asked, which takes no refusal.
	p.has(t, "x", "y")
	p.settled(t, s)
	second.settled(t, newest.History, stored[unstructured.Unstructured](newest.GetStore()))
}

func testDeletedDefinition(t *testing.T, s *server, step func(string)) {
	gate := newGate()
	cfg := rest.CopyConfig(s.config)
	cfg.Wrap(gate.wrap)
	cfg.Wrap(source.WrapTransport)
	p := startPair(s.ctx, cfg)
	defer p.end()
	p.has(t, "x", "y")

	step("the definition is deleted out of sight: what is known stays")
	gate.close()
	s.undefine(t, ledgerName)
	p.each((*observer).seen)
	gate.reopen()
	p.refused(t)
	p.has(t, "x", "y")
	p.each(func(o *observer) {
		if n := len(o.GetStore().ListKeys()); n != 2 {
			t.Errorf("%s: %d objects are left of 2", o.Name, n)
		}
	})

	step("it comes back, with another x and no y")
	s.define(t, ledgerDefinition(t))
	first := kind[unstructured.Unstructured]{s, ledgersV1, "books"}
	first.write(t, "x", 20)
	p.settled(t, s)

	step("deleted before their eyes")
	p.each((*observer).seen)
	s.undefine(t, ledgerName)
	p.refused(t)

	step("and back once more")
	s.define(t, ledgerDefinition(t))
	first.write(t, "w", 30)
	p.has(t, "w")
	p.settled(t, s)
}
