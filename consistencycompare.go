package kinglet

import (
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// basis is the store at one version, which pages are compared with.
type basis[T any] struct {
	snapshot *store.Snapshot[T]
	version  string
	// quarantined are the keys of which the snapshot does not have the state
	// at its version.
	quarantined map[store.Key]struct{}
	// epoch is the reflector's, since versions of two epochs do not compare.
	epoch uint64
}

// suspicion is a difference that was found, if it is certain; else one that
// would have another explanation.
type suspicion struct {
	Inconsistency
	certain bool
	// name is what the object itself is called, to ask for it; its key may be
	// another.
	name place
}

// maxSurplus bounds how many keys of a page are suspected to be surplus, since
// a store may hold any number of them.
const maxSurplus = 1000

// comparison compares one page with a basis.
type comparison[T any] struct {
	basis *basis[T]
	opts  *Options[T]

	// version is the page's, and order how it compares with the basis's. Both
	// must be known before the first item.
	version string
	order   int

	// seen are the keys of the page, of which last was the last one, in order
	// as far as ordered says so, the page before included. blind is set once an
	// object came of which nobody knows the key.
	seen           map[store.Key]struct{}
	last           place
	ordered, blind bool

	suspicions        []suspicion
	compared, skipped int
	// pending counts what is missing unless it was deleted after the page.
	pending int
}

func newComparison[T any](b *basis[T], opts *Options[T], after place) *comparison[T] {
	return &comparison[T]{basis: b, opts: opts, last: after, ordered: true, seen: make(map[store.Key]struct{})}
}

// at says of which version the page is. It is false if that has no order.
func (c *comparison[T]) at(version string) (ok bool) {
	c.version = version
	if version == c.basis.version {
		return true
	}
	c.order, ok = resourceversion.Compare(version, c.basis.version)
	return ok
}

// item compares one object of the page.
func (c *comparison[T]) item(it *source.Item[T]) {
	if it.Key == (store.Key{}) {
		c.blind = true
		c.skipped++
		return
	}
	c.seen[it.Key] = struct{}{}
	p := placeOf(it.Key)
	c.ordered = c.ordered && it.Key.Cluster == "" && p.compare(c.last) > 0
	c.last = p
	if it.Err != nil {
		c.skipped++
		return
	}
	c.judge(it.Key, it)
}

// surplus suspects what the store holds in a part of the collection and the
// page does not have. certain is whether nothing but the page's version is to
// be known for that.
func (c *comparison[T]) surplus(held iter.Seq[store.Key], certain bool) {
	for key := range held {
		if _, ok := c.seen[key]; ok {
			continue
		}
		before := len(c.suspicions)
		c.judge(key, nil)
		if len(c.suspicions) > before {
			c.suspicions[before].certain = c.suspicions[before].certain && certain
		}
		if len(c.suspicions) >= maxSurplus {
			return
		}
	}
}

// judge compares what the store has under key with what the server has, which
// is nil for nothing.
func (c *comparison[T]) judge(key store.Key, it *source.Item[T]) {
	held, has := c.basis.snapshot.Get(key)
	f := Inconsistency{Key: key}
	name := placeOf(key)
	if has {
		f.StoreVersion = objectVersion(held)
		name = ownName(held, name)
	}
	if it != nil {
		f.ServerVersion = it.ResourceVersion
		name = ownName(it.Object, name)
	}
	_, quarantined := c.basis.quarantined[key]
	switch {
	case !has && it == nil:
		return
	case quarantined, has && newer(f.StoreVersion, c.basis.version):
		// The last good version, or one that somebody put there by hand.
		c.skipped++
		return
	case !has:
		f.Kind = Missing
	case it == nil:
		f.Kind = Surplus
	default:
		f.Kind = c.differ(held, it, &f)
	}
	if it != nil && f.Kind != 0 && c.excused(&f) {
		return
	}
	if it == nil && c.order < 0 && !notNewer(f.StoreVersion, c.version) {
		c.skipped++ // created after the page
		return
	}
	c.compared++
	if f.Kind != 0 {
		c.suspicions = append(c.suspicions, suspicion{Inconsistency: f, certain: c.order == 0, name: name})
	}
}

// excused reports whether the object may have changed between the version of
// the page and that of the basis, and counts it.
func (c *comparison[T]) excused(f *Inconsistency) bool {
	switch {
	case c.order == 0 || f.Kind == OtherContent:
		return false
	case c.order < 0 && f.Kind == Missing:
		c.pending++
	case c.order < 0 && notNewer(f.StoreVersion, c.version):
		return false // the store's version is one that the page should have
	case c.order > 0 && notNewer(f.ServerVersion, c.basis.version):
		return false // and here it is the other way round
	}
	c.skipped++
	return true
}

// differ says how two versions of one key differ; 0 if they do not.
func (c *comparison[T]) differ(held T, it *source.Item[T], f *Inconsistency) InconsistencyKind {
	uid := c.opts.UID(held)
	switch {
	case uid != "" && it.UID != "" && uid != it.UID:
		return OtherObject
	case f.StoreVersion != "" && f.ServerVersion != "" && f.StoreVersion != f.ServerVersion:
		return OtherVersion
	case c.opts.ConsistencyCheck.IdentityOnly || isZero(it.Object):
		return 0
	}
	// Of which kind an object is stands in it or not, depending on whether it
	// came from a list or a watch.
	if a, ok := any(held).(runtime.Object); ok {
		if b, ok := any(it.Object).(runtime.Object); ok {
			b.GetObjectKind().SetGroupVersionKind(a.GetObjectKind().GroupVersionKind())
		}
	}
	if c.opts.sameContent(held, it.Object) {
		return 0
	}
	return OtherContent
}

// newer reports whether version a is known to come after b.
func newer(a, b string) bool {
	order, ok := resourceversion.Compare(a, b)
	return ok && order > 0
}

// notNewer reports whether version a is known not to come after b.
func notNewer(a, b string) bool {
	order, ok := resourceversion.Compare(a, b)
	return ok && order <= 0
}

// isZero is for an item without an object.
func isZero[T any](obj T) bool { return reflect.ValueOf(&obj).Elem().IsZero() }

// ownName is what an object's metadata says, or else what is known.
func ownName[T any](obj T, known place) place {
	if isZero(obj) {
		return known
	}
	if key, err := objectKey(obj); err == nil {
		return placeOf(key)
	}
	return known
}

// sameContent is what a check compares content by: equality as the API has it,
// for which empty and absent are the same, and a Quantity is its value.
func sameContent[T any](a, b T) (same bool) {
	defer func() {
		if recover() != nil {
			// A type with fields that are not exported.
			same = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}
