package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// What describes in words how two caches differ.
type What string

const (
	Missing      What = "missing in the shadow"
	Surplus      What = "in the shadow alone"
	Stale        What = "of different versions" // and does not catch up
	Changed      What = "different at one version"
	NotCompared  What = "not compared, since it has no JSON" // or its methods panic
	ShadowFailed What = "an error of the shadow"
)

// Difference is one difference between two caches. It contains no data of objects.
type Difference struct {
	What What
	Kind schema.GroupVersionKind
	// Key is empty if the difference is of the whole kind, or of the whole cache.
	Key client.ObjectKey
	// Read is the call that found it: a Get also stands for what both caches hold.
	Read string
	// Path is the JSON path of the first field that differs, if What is Changed; its
	// first part for a Secret, whose author may have chosen the names below it.
	Path string
	Err  error // of the shadow, if What is ShadowFailed
}

// String returns the difference in one line.
func (d Difference) String() string {
	text := fmt.Sprintf("%v %s: %s, by %s", d.Kind, strings.TrimPrefix(d.Key.String(), "/"), d.What, d.Read)
	if d.Path != "" {
		text += ", at " + d.Path
	}
	if d.Err != nil {
		text += ": " + d.Err.Error()
	}
	return text
}

// mostUntold bounds the differences that wait for OnDifference.
const mostUntold = 20

// report reports a difference, unless it has been reported lately. While OnDifference is
// called, which may read from the cache, its caller reports what others find.
func (c *Cache) report(d Difference) {
	id := d.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reported[id] || len(c.untold) == mostUntold || !c.reportRate.TryAccept() {
		return
	}
	if len(c.reported) == 1024 {
		clear(c.reported)
	}
	c.reported[id] = true
	c.untold = append(c.untold, d)
	if c.telling {
		return
	}
	c.telling = true
	defer func() { c.telling = false }()
	for len(c.untold) > 0 {
		d, c.untold = c.untold[0], c.untold[1:]
		c.tell(d)
	}
}

// tell calls OnDifference without the lock, which it holds before and after.
func (c *Cache) tell(d Difference) {
	c.mu.Unlock()
	defer c.mu.Lock()
	defer func() {
		if v := recover(); v != nil {
			logf.Log.WithName("kinglet").Error(fmt.Errorf("panic: %v", v), "OnDifference of a comparison", "stack", string(debug.Stack()))
		}
	}()
	c.opts.OnDifference(d)
}

// kind is a kind in the form in which it is read. empty and emptyList are nil for typed
// objects.
type kind struct {
	schema.GroupVersionKind
	empty, emptyList runtime.Object
}

var untyped, untypedList = &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
var metadata, metadataList = &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}

// use returns the kind of an object or list, and records that the program uses it.
func (c *Cache) use(obj runtime.Object) (k kind, known bool) {
	var err error
	if k.GroupVersionKind, err = apiutil.GVKForObject(obj, c.scheme); err != nil {
		return k, false
	}
	if meta.IsListType(obj) {
		k.Kind = strings.TrimSuffix(k.Kind, "List")
	}
	switch obj.(type) {
	case runtime.Unstructured:
		k.empty, k.emptyList = untyped, untypedList
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		k.empty, k.emptyList = metadata, metadataList
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[k] = true
	return k, true
}

// read is a Get, or a List if list is set.
type read struct {
	kind kind
	key  client.ObjectKey
	list *client.ListOptions
}

func (r read) String() string {
	if r.list == nil {
		return "Get"
	}
	var fields []string // without values, which may be data of the objects
	if s := r.list.FieldSelector; s != nil {
		for _, each := range s.Requirements() {
			fields = append(fields, each.Field)
		}
	}
	labels := r.list.AsListOptions().LabelSelector
	return fmt.Sprintf("List in namespace %q, labels %q, fields %q", r.list.Namespace, labels, strings.Join(fields, ","))
}

// repeat queues a read for comparison, unless there are too many.
func (c *Cache) repeat(ctx context.Context, r read) {
	if ctx.Err() == nil && c.readRate.TryAccept() {
		select {
		case c.reads <- r:
		default:
		}
	}
}

// from returns a cache's answer to a read by key, without copies.
func (c *Cache) from(ctx context.Context, from cache.Cache, r read) (objs map[client.ObjectKey]client.Object, err error) {
	objs = map[client.ObjectKey]client.Object{}
	gvk, out := r.kind.GroupVersionKind, r.kind.empty
	if r.list != nil {
		gvk.Kind, out = gvk.Kind+"List", r.kind.emptyList
	}
	if out != nil {
		out = out.DeepCopyObject()
	} else if out, err = c.scheme.New(gvk); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	if r.list == nil {
		obj := out.(client.Object)
		if err = from.Get(ctx, r.key, obj, client.UnsafeDisableDeepCopy); err == nil {
			objs[r.key] = obj
		}
		return objs, client.IgnoreNotFound(err)
	}
	if err := from.List(ctx, out.(client.ObjectList), r.list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	err = meta.EachListItem(out, func(item runtime.Object) error {
		objs[client.ObjectKeyFromObject(item.(client.Object))] = item.(client.Object)
		return nil
	})
	return objs, err
}

// do repeats a read. It returns no objects if a cache does not answer; ok is false if the
// primary does not, or if the program has removed the informer, which a read would make again.
func (c *Cache) do(ctx context.Context, r read) (primary, shadow map[client.ObjectKey]client.Object, shadowErr error, ok bool) {
	c.reading <- struct{}{}
	defer func() { <-c.reading }()
	c.mu.Lock()
	used := c.kinds[r.kind]
	c.mu.Unlock()
	if !used {
		return nil, nil, nil, false
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second) // it waits while its informer syncs
	defer cancel()
	primary, err := c.from(short, c.Cache, r)
	if err == nil {
		shadow, shadowErr = c.from(short, c.shadow, r)
	}
	if err != nil || shadowErr != nil || ctx.Err() != nil {
		return nil, nil, shadowErr, err == nil && ctx.Err() == nil
	}
	return primary, shadow, nil, true
}

// suspect is something that differs, perhaps only for a moment.
type suspect struct {
	read            read
	key             client.ObjectKey
	what            What
	primary, shadow client.Object // when the difference began
	since           time.Time
}

// run compares the program's reads, from time to time everything that both caches hold,
// and looks again at what differs.
func (c *Cache) run(ctx context.Context) {
	look, held := time.NewTicker(min(max(c.opts.Within/30, 100*time.Millisecond), time.Second)), time.NewTimer(min(c.opts.Every, time.Minute))
	defer look.Stop()
	defer held.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-c.reads:
			c.compare(ctx, r, func(client.ObjectKey) read { return r })
		case <-look.C:
			maps.DeleteFunc(c.suspects, func(_ string, s *suspect) bool { return !c.look(ctx, s) })
		case <-held.C:
			c.mu.Lock()
			kinds := slices.Collect(maps.Keys(c.kinds))
			c.mu.Unlock()
			for _, k := range kinds {
				c.compare(ctx, read{kind: k, list: &client.ListOptions{}}, func(key client.ObjectKey) read { return read{kind: k, key: key} })
			}
			held.Reset(c.opts.Every)
		}
	}
}

// suspect makes something be looked at again, unless there are too many.
func (c *Cache) suspect(s suspect) {
	id := fmt.Sprint(s.read, s.read.kind.GroupVersionKind, reflect.TypeOf(s.read.kind.empty), s.read.key, s.key)
	if c.suspects[id] == nil && len(c.suspects) < 256 {
		s.since = time.Now()
		c.suspects[id] = &s
	}
}

// compare makes suspects of what differs in a read; again returns their next read.
func (c *Cache) compare(ctx context.Context, r read, again func(client.ObjectKey) read) {
	primary, shadow, shadowErr, _ := c.do(ctx, r)
	if shadowErr != nil {
		c.suspect(suspect{read: r, what: ShadowFailed})
	}
	keys := maps.Clone(primary)
	maps.Copy(keys, shadow)
	began := time.Now()
	for key := range keys {
		if what, _ := difference(primary[key], shadow[key]); what != "" {
			c.suspect(suspect{read: again(key), key: key, what: what, primary: primary[key], shadow: shadow[key]})
		}
		if busy := time.Since(began); busy > 10*time.Millisecond {
			select {
			case <-time.After(19 * busy): // a twentieth of a core
				began = time.Now()
			case <-ctx.Done():
				return
			}
		}
	}
}

// look looks at a suspect again, and reports whether to do so once more.
func (c *Cache) look(ctx context.Context, s *suspect) bool {
	primaries, shadows, shadowErr, ok := c.do(ctx, s.read)
	if !ok {
		return false
	}
	primary, shadow, what, path := primaries[s.key], shadows[s.key], ShadowFailed, ""
	if shadowErr == nil {
		what, path = difference(primary, shadow)
	}
	switch {
	case what == "":
		return false
	case what != s.what || what == Stale && differ(primary, s.primary) && differ(shadow, s.shadow): // both move
		s.what, s.primary, s.shadow, s.since = what, primary, shadow, time.Now()
		return true
	case what != Changed && time.Since(s.since) < c.opts.Within: // no later event mends one version
		return true
	}
	if s.read.kind.Kind == "Secret" && path != "" {
		path = "." + strings.SplitN(path[1:], ".", 2)[0]
	}
	c.report(Difference{What: what, Kind: s.read.kind.GroupVersionKind, Key: s.key, Read: s.read.String(), Path: path, Err: shadowErr})
	return false
}

// differ reports whether two objects are not the same version of one object.
func differ(a, b client.Object) bool {
	return a.GetUID() != b.GetUID() || a.GetResourceVersion() != b.GetResourceVersion()
}

// difference returns how two objects differ, if not nil, and the path of a changed field.
func difference(primary, shadow client.Object) (what What, path string) {
	defer func() {
		if recover() != nil {
			what, path = NotCompared, ""
		}
	}()
	switch {
	case primary == nil && shadow == nil:
		return "", ""
	case shadow == nil:
		return Missing, ""
	case primary == nil:
		return Surplus, ""
	case differ(primary, shadow):
		return Stale, ""
	}
	a, err := fieldsOf(primary)
	b, shadowErr := fieldsOf(shadow)
	if err != nil || shadowErr != nil {
		return NotCompared, ""
	}
	if path, differ := firstDifference(a, b); differ {
		return Changed, path
	}
	return "", ""
}

// fieldsOf returns an object as its JSON has it, without apiVersion and kind: not all
// caches set them.
func fieldsOf(obj client.Object) (fields map[string]any, err error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 would round large integers
	err = d.Decode(&fields)
	delete(fields, "apiVersion")
	delete(fields, "kind")
	return fields, err
}

// firstDifference returns the path to where a and b first differ, at most to a list.
func firstDifference(a, b any) (path string, differ bool) {
	x, ok := a.(map[string]any)
	y, both := b.(map[string]any)
	if !ok || !both {
		return "", !reflect.DeepEqual(a, b)
	}
	keys := maps.Clone(x)
	maps.Copy(keys, y)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if path, differ := firstDifference(x[key], y[key]); differ {
			return "." + key + path, true
		}
	}
	return "", false
}
