package consistency

import (
	"iter"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// baseline is the store at one version, with which pages are compared.
type baseline[T any] struct {
	View[T]
	// of is the source of the pages, and scope its scope; objects of the store outside
	// the scope are not compared.
	of    Informer[T]
	scope store.Scope
	// epoch is the reflector's, since versions of two epochs do not compare.
	epoch uint64
}

// candidate is a possible difference. One that is not certain may have another
// explanation, such as a change between the version of the page and the baseline.
type candidate struct {
	Inconsistency
	certain bool
	// name is the name in the object's metadata, for requests by name; the key may
	// differ from it.
	name cursor
}

// maxSurplus bounds the candidates from keys that the store holds and the page lacks,
// since there may be any number of them.
const maxSurplus = 1000

// comparison compares one page with a baseline.
type comparison[T any] struct {
	base   *baseline[T]
	config *Config[T]

	// version is the page's; order is the result of comparing it with the baseline's.
	// Both are set before the first item.
	version string
	order   int

	// seen are the keys of the page and last is the last one. ordered: they are in
	// the server's order, including the previous page. unidentified: the page has an
	// object whose key is unknown.
	seen                  map[store.Key]struct{}
	last                  cursor
	ordered, unidentified bool

	candidates        []candidate
	compared, skipped int
	// pending counts objects that are missing, unless they were deleted after the
	// version of the page.
	pending int
}

// setVersion sets the page's resource version. It returns false if that cannot be
// compared with the baseline's.
func (c *comparison[T]) setVersion(version string) (ok bool) {
	c.version = version
	if version == c.base.Version {
		return true
	}
	c.order, ok = resourceversion.Compare(version, c.base.Version)
	return ok
}

// item compares one object of the page.
func (c *comparison[T]) item(it *source.Item[T]) {
	if it.Key == (store.Key{}) {
		c.unidentified = true
		c.skipped++
		return
	}
	c.seen[it.Key] = struct{}{}
	at := cursorOf(it.Key)
	c.ordered = c.ordered && at.compare(c.last) > 0
	c.last = at
	if it.Err != nil || !c.base.scope.Has(it.Key) {
		c.skipped++
		return
	}
	c.compare(it.Key, it)
}

// surplus adds candidates for the keys that the store holds in the range of the page
// and the page lacks. They are certain differences only if certain is set and the page
// has the version of the baseline.
func (c *comparison[T]) surplus(held iter.Seq[store.Key], certain bool) {
	for key := range held {
		if _, ok := c.seen[key]; ok || !c.base.scope.Has(key) {
			continue
		}
		before := len(c.candidates)
		c.compare(key, nil)
		if len(c.candidates) > before {
			c.candidates[before].certain = c.candidates[before].certain && certain
		}
		if len(c.candidates) >= maxSurplus {
			return
		}
	}
}

// compare compares the store's object under key with the server's; it is nil if the
// server has none.
func (c *comparison[T]) compare(key store.Key, it *source.Item[T]) {
	held, has := c.base.Snapshot.Get(key)
	f := Inconsistency{Key: key}
	name := cursorOf(key)
	if has {
		f.StoreVersion = c.config.Version(held)
		name = metadataName(held, name)
	}
	if it != nil {
		f.ServerVersion = it.ResourceVersion
		name = metadataName(it.Object, name)
	}
	_, quarantined := c.base.Quarantined[key]
	switch {
	case !has && it == nil:
		return
	case quarantined, has && newer(f.StoreVersion, c.base.Version):
		// The last good version, or one that was written by hand.
		c.skipped++
		return
	case !has:
		f.Kind = Missing
	case it == nil:
		f.Kind = Surplus
	default:
		f.Kind = c.difference(held, it, &f)
	}
	if it != nil && f.Kind != 0 && c.mayHaveChanged(&f) {
		return
	}
	if it == nil && c.order < 0 && !notNewer(f.StoreVersion, c.version) {
		c.skipped++ // created after the page
		return
	}
	c.compared++
	if f.Kind != 0 {
		c.candidates = append(c.candidates, candidate{Inconsistency: f, certain: c.order == 0, name: name})
	}
}

// mayHaveChanged reports whether the object may have changed between the version of
// the page and that of the baseline, and counts it if so.
func (c *comparison[T]) mayHaveChanged(f *Inconsistency) bool {
	switch {
	case c.order == 0 || f.Kind == OtherContent:
		return false
	case c.order < 0 && f.Kind == Missing:
		c.pending++
	case c.order < 0 && notNewer(f.StoreVersion, c.version):
		return false // the page should have the store's version
	case c.order > 0 && notNewer(f.ServerVersion, c.base.Version):
		return false // the store should have the page's version
	}
	c.skipped++
	return true
}

// difference returns how two versions of one key differ; 0 if they do not.
func (c *comparison[T]) difference(held T, it *source.Item[T], f *Inconsistency) Kind {
	uid := c.config.UID(held)
	switch {
	case uid != "" && it.UID != "" && uid != it.UID:
		return OtherObject
	case f.StoreVersion != "" && f.ServerVersion != "" && f.StoreVersion != f.ServerVersion:
		return OtherVersion
	case c.config.Options.IdentityOnly || isZero(it.Object):
		return 0
	case partial(held) != partial(it.Object):
		return 0 // one of them is to be held in another form since
	}
	listed := it.Object
	// Objects of a list may lack the TypeMeta that those of a watch have. They may be a
	// client's, which keeps them.
	if a, ok := any(held).(runtime.Object); ok {
		kind := a.GetObjectKind().GroupVersionKind()
		if b, ok := any(listed).(runtime.Object); ok && b.GetObjectKind().GroupVersionKind() != kind {
			listed = withKind(listed, kind)
		}
	}
	if c.config.Equal(held, listed) {
		return 0
	}
	return OtherContent
}

func partial(obj any) bool {
	m, ok := obj.(metav1.Object)
	return ok && source.IsPartial(m)
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

// isZero reports whether obj is the zero T, like that of an item without an object.
func isZero[T any](obj T) bool { return reflect.ValueOf(&obj).Elem().IsZero() }

// metadataName returns the name in the object's metadata, or known if it has none.
func metadataName[T any](obj T, known cursor) cursor {
	if isZero(obj) {
		return known
	}
	if m, ok := any(obj).(metav1.Object); ok && m.GetName() != "" {
		return cursor{m.GetNamespace(), m.GetName()}
	}
	return known
}

// withKind returns a copy of obj, which shares parts with it, of another kind. An object
// that is not a pointer to a struct is returned as it is. DeepCopyObject would not do: it may
// be that of an embedded type.
func withKind[T any](obj T, kind schema.GroupVersionKind) T {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return obj
	}
	to := reflect.New(v.Type().Elem())
	to.Elem().Set(v.Elem())
	as := to.Interface()
	if u, ok := as.(*unstructured.Unstructured); ok {
		u.Object = maps.Clone(u.Object)
	}
	as.(runtime.Object).GetObjectKind().SetGroupVersionKind(kind)
	return as.(T)
}
