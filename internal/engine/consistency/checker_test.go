package consistency_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

type object = *metav1.PartialObjectMetadata

// version is the one version at which the fake's collection is.
const version = "100"

// informer is a naive fake: a store, and what the server has, in the server's order.
type informer struct {
	scope       store.Scope
	status      reflector.Status
	store       *store.Store[object]
	quarantined map[store.Key]struct{}
	server      []object

	reported []error
	relisted map[store.Key]struct{} // nil until Relist
}

func (i *informer) Scope() store.Scope { return i.scope }

func (i *informer) Status() reflector.Status { return i.status }

func (i *informer) View() consistency.View[object] {
	return consistency.View[object]{Snapshot: i.store.Snapshot(), Version: version, Quarantined: i.quarantined}
}

// Sample answers with a page from the position that the token names.
func (i *informer) Sample(_ context.Context, req source.ListRequest[object], yield func(source.Page[object]) error) error {
	from, _ := strconv.Atoi(req.Continue)
	page := source.Page[object]{ResourceVersion: version}
	for n := from; n < len(i.server); n++ {
		obj := i.server[n]
		if req.FieldSelector != "" && req.FieldSelector != "metadata.name="+obj.Name+",metadata.namespace="+obj.Namespace {
			continue
		}
		if int64(len(page.Items)) == req.Limit {
			page.Continue = strconv.Itoa(n)
			break
		}
		page.Items = append(page.Items, source.Item[object]{
			Key: keyOf(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion, Object: obj,
		})
	}
	return yield(page)
}

func (i *informer) Relist(_ error, keys map[store.Key]struct{}) { i.relisted = keys }

func (i *informer) Report(err error) { i.reported = append(i.reported, err) }

func keyOf(obj object) store.Key { return store.Key{Namespace: obj.Namespace, Name: obj.Name} }

func newInformer(t *testing.T) *informer {
	t.Helper()
	s, err := store.New(store.Options[object]{RememberKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return &informer{status: reflector.Status{Phase: reflector.Watching}, store: s, quarantined: map[store.Key]struct{}{}}
}

func newChecker(t *testing.T, i *informer, opts consistency.Options) *consistency.Checker[object] {
	t.Helper()
	return newCheckerOf(t, opts, i)
}

func newCheckerOf(t *testing.T, opts consistency.Options, sources ...consistency.Informer[object]) *consistency.Checker[object] {
	t.Helper()
	c := consistency.New(func() []consistency.Informer[object] { return sources }, consistency.Config[object]{
		Name: "pods", Options: opts,
		UID:     func(o object) types.UID { return o.UID },
		Version: func(o object) string { return o.ResourceVersion },
	})
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	c.Start(ctx, &group)
	t.Cleanup(func() { stop(); group.Wait() })
	return c
}

// Keys, versions and contents of a store and a server at one version, at random: one
// sweep finds exactly the differences that a comparison of all keys finds.
func TestASweepFindsExactlyTheDifferencesThatThereAre(t *testing.T) {
	seed := testkit.Seed(t)
	differences := 0
	for n := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, n))
		i := newInformer(t)
		want := map[store.Key]consistency.Kind{}
		for k := range rnd.IntN(60) {
			obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: []string{"a", "a-b", "b"}[rnd.IntN(3)], Name: fmt.Sprint("n", k), UID: "u", ResourceVersion: fmt.Sprint(1 + rnd.IntN(99)),
			}}
			held := obj.DeepCopy()
			kind := consistency.Kind(rnd.IntN(30))
			switch kind {
			case consistency.Missing:
				held = nil
			case consistency.Surplus:
				obj = nil
			case consistency.OtherVersion:
				held.ResourceVersion += "0"
				if len(held.ResourceVersion) > 2 {
					held.ResourceVersion = "0" + held.ResourceVersion // compares with nothing
				}
			case consistency.OtherObject:
				held.UID = "another"
			case consistency.OtherContent:
				held.Labels = map[string]string{"altered": "yes"}
			default:
				kind = 0
			}
			if obj != nil {
				i.server = append(i.server, obj)
			}
			if held != nil {
				held.Kind = "Pod" // as in a watch, not in a list
				if err := i.store.Write(store.Op[object]{Key: keyOf(held), Object: held}); err != nil {
					t.Fatal(err)
				}
			}
			key := keyOf(cmp.Or(obj, held))
			switch {
			case kind != 0 && rnd.IntN(5) == 0:
				i.quarantined[key] = struct{}{}
			case kind != 0:
				want[key] = kind
			}
		}
		slices.SortFunc(i.server, func(a, b object) int { return strings.Compare(path(a), path(b)) })
		// Candidates of a partial page that the store holds are rechecked by name, at
		// most four a check.
		parts := []*informer{i}
		if rnd.IntN(2) == 0 {
			parts = i.byNamespace("a", "a-b", "b")
		}
		var sources []consistency.Informer[object]
		for _, part := range parts {
			sources = append(sources, part)
		}
		c := newCheckerOf(t, consistency.Options{Limit: int64(1 + rnd.IntN(70))}, sources...)
		got, rechecked := map[store.Key]consistency.Kind{}, 0
		for complete := false; !complete; {
			r, err := c.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Found {
				got[f.Key] = f.Kind
			}
			if r.Differences != len(r.Found) {
				t.Fatalf("%d of %d differences are listed", len(r.Found), r.Differences)
			}
			complete, rechecked = r.Complete, rechecked+r.Skipped
		}
		for key := range want {
			if _, found := got[key]; !found && want[key] == consistency.Surplus && rechecked > len(i.quarantined) {
				delete(want, key) // one of more than four on a page
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d, store %d: found %v, want %v", seed, n, got, want)
		}
		for _, part := range parts {
			differs := false
			for key := range got {
				differs = differs || part.scope.Has(key)
			}
			if differs != (part.relisted != nil) || differs != (len(part.reported) > 0) {
				t.Fatalf("differences %v, of scope %q relisted %v, reported %v", got, part.scope.ID, part.relisted, part.reported)
			}
		}
		for _, obj := range i.server {
			if obj.Kind != "" {
				t.Fatalf("the server's object was written to: %+v", obj)
			}
		}
		differences += len(got)
	}
	if differences == 0 {
		t.Error("nothing was ever different")
	}
}

// byNamespace returns the sources of an informer that has one for each namespace.
func (i *informer) byNamespace(names ...string) (parts []*informer) {
	for _, ns := range names {
		part := &informer{
			scope:  store.Scope{ID: ns, Span: store.NamespaceSpan(ns)},
			status: i.status, store: i.store, quarantined: i.quarantined,
		}
		for _, obj := range i.server {
			if obj.Namespace == ns {
				part.server = append(part.server, obj)
			}
		}
		parts = append(parts, part)
	}
	return parts
}

func path(o object) string { return o.Namespace + "/" + o.Name }

func TestNothingIsAskedForUnlessTheInformerIsWatchingAtAnExactVersion(t *testing.T) {
	for name, change := range map[string]func(*informer){
		"listing":  func(i *informer) { i.status.Phase = reflector.Listing },
		"degraded": func(i *informer) { i.status.Degraded = true },
	} {
		t.Run(name, func(t *testing.T) {
			i := newInformer(t)
			change(i)
			c := newChecker(t, i, consistency.Options{})
			_, err := c.Check(t.Context())
			var notChecked *consistency.NotCheckedError
			if !errors.As(err, &notChecked) || notChecked.Name != "pods" || !errors.Is(err, consistency.ErrNotWatching) {
				t.Errorf("the error is %v", err)
			}
			if s := c.Status(); s.Checks != 1 || s.NotChecked != 1 || s.LastNotChecked == nil || s.Compared != 0 {
				t.Errorf("status: %+v", s)
			}
		})
	}
}
