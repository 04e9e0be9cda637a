package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// tortureLag is how far behind the watches are.
const tortureLag = 5 * time.Second

// clientTrial is one trial of reads that include the writes of a client.
type clientTrial struct {
	opts cache.Options
	// inCache reports whether opts cover an object.
	inCache func(client.Object) bool
	// writes are the forms that are written. With metadata, collections are deleted,
	// too.
	writes []string
	// atOnce are the forms whose reads must not wait.
	atOnce []string
}

func everything(client.Object) bool { return true }

var clientTrials = map[string]clientTrial{
	"unstructured writes": {inCache: everything, writes: []string{"unstructured"}, atOnce: allForms},
	"typed writes":        {inCache: everything, writes: []string{"typed"}, atOnce: []string{"typed", "metadata"}},
	"all writes":          {inCache: everything, writes: allForms},
	"selector": {
		opts:    cache.Options{DefaultLabelSelector: labels.SelectorFromSet(labels.Set{"in": "yes"})},
		inCache: func(obj client.Object) bool { return obj.GetLabels()["in"] == "yes" },
		writes:  []string{"typed", "unstructured"}, atOnce: []string{"typed", "metadata"},
	},
	"several namespaces": {
		opts:    cache.Options{DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {}}},
		inCache: func(obj client.Object) bool { return obj.GetNamespace() != "ns2" },
		writes:  allForms,
	},
}

func TestNoReadOfTheCacheIsOlderThanWhatItsClientWrote(t *testing.T) {
	for name, trial := range clientTrials {
		t.Run(name, func(t *testing.T) {
			seed := testkit.Seed(t)
			for n := range uint64(4) {
				var wrong []string
				synctest.Test(t, func(t *testing.T) { wrong = trial.run(t, seed+n) })
				for _, what := range wrong {
					t.Errorf("seed %d: %s", seed+n, what)
				}
				if len(wrong) > 0 {
					return
				}
			}
		})
	}
}

// clientTorture is what a trial works on.
type clientTorture struct {
	clientTrial
	*writer
	truth *clientTruth
	view  *ctrlruntime.View[*corev1.ConfigMap]
}

func (tr clientTrial) run(t *testing.T, seed uint64) []string {
	w := newWorld(t)
	r, end := w.withClient(ctrlruntime.Options{}, tr.opts, allForms...)
	defer end()
	if err := r.cache.IndexField(t.Context(), &corev1.ConfigMap{}, "x", func(obj client.Object) []string { return []string{obj.GetLabels()["x"]} }); err != nil {
		t.Fatal(err)
	}
	view, err := ctrlruntime.For[*corev1.ConfigMap](r.cache)
	if err != nil {
		t.Fatal(err)
	}
	c := &clientTorture{clientTrial: tr, writer: r, truth: newClientTruth(w.storage, tr.inCache), view: view}
	ctx, stop := context.WithCancel(context.Background())
	faults, calm := context.WithCancel(ctx)
	var writing, beside sync.WaitGroup
	beside.Go(func() { c.lag(ctx) })
	for i := range 6 {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		writing.Go(func() {
			for range 60 {
				testbubble.Pass(time.Duration(rnd.Int64N(int64(400 * time.Millisecond))))
				if i < 4 {
					c.write(rnd)
				} else {
					c.foreign(rnd)
				}
			}
		})
	}
	for i := range 3 {
		rnd := rand.New(rand.NewPCG(seed, uint64(100+i)))
		beside.Go(func() {
			for ctx.Err() == nil {
				testbubble.Pass(time.Duration(rnd.Int64N(int64(100 * time.Millisecond))))
				c.read(rnd)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 200))
	beside.Go(func() {
		for {
			testbubble.Pass(5*time.Second + time.Duration(rnd.Int64N(int64(5*time.Second))))
			if faults.Err() != nil {
				return
			}
			if rnd.IntN(2) == 0 {
				w.storage.Compact(w.storage.Revision()) // 410: listed again
			}
			w.server.Disconnect()
		}
	})
	writing.Wait()
	calm()
	testbubble.Pass(2*time.Minute + 2*tortureLag)
	stop()
	beside.Wait()
	c.settled()
	return c.truth.wrong
}

// lag makes the watches learn of each revision late, until ctx ends.
func (c *clientTorture) lag(ctx context.Context) {
	type seenAt struct {
		at       time.Time
		revision int64
	}
	var all []seenAt
	for ctx.Err() == nil {
		testbubble.Pass(100 * time.Millisecond)
		all = append(all, seenAt{time.Now(), c.storage.Revision()})
		due := int64(0)
		for len(all) > 0 && time.Since(all[0].at) >= tortureLag {
			due, all = all[0].revision, all[1:]
		}
		if n := due - c.server.Advance(0); n > 0 {
			c.server.Advance(n)
		}
	}
	c.server.Release()
}

func randomKey(rnd *rand.Rand) client.ObjectKey {
	return keyed(fmt.Sprint("ns", rnd.IntN(3)), fmt.Sprint("object-", rnd.IntN(4)))
}

func randomLabels(rnd *rand.Rand) map[string]string {
	return map[string]string{"x": fmt.Sprint(rnd.IntN(3)), "in": []string{"yes", "yes", "no"}[rnd.IntN(3)], "filler": fmt.Sprint(rnd.Uint32())}
}

// write writes through the client, and records what it returned.
func (c *clientTorture) write(rnd *rand.Rand) {
	ctx, key, form := context.Background(), randomKey(rnd), c.writes[rnd.IntN(len(c.writes))]
	obj := object(form, key.Namespace, key.Name)
	obj.SetLabels(randomLabels(rnd))
	if rnd.IntN(6) == 0 {
		obj.SetFinalizers([]string{"example.com/f"})
	}
	known := object("typed", "", "")
	knows := c.Get(ctx, key, known) == nil
	var err error
	switch n := rnd.IntN(10); {
	case form == "metadata" && n == 0:
		c.deleteAll(key.Namespace)
		return
	case form == "metadata" && n < 8, n == 3, n == 4:
		patch := fmt.Sprintf(`{"metadata":{"labels":{"x":"%d","in":"%s"},"finalizers":null}}`, rnd.IntN(3), obj.GetLabels()["in"])
		if rnd.IntN(2) == 0 && form != "metadata" {
			err = c.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
		} else {
			err = c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
	case form != "metadata" && n < 3:
		err = c.Create(ctx, obj)
	case form != "metadata" && n < 8 && knows:
		obj.SetUID(known.GetUID())
		obj.SetResourceVersion(known.GetResourceVersion())
		err = c.Update(ctx, obj)
	case knows:
		c.delete(known, object(form, key.Namespace, key.Name))
		return
	default:
		return
	}
	if err == nil {
		c.truth.wrote(obj)
	}
}

// delete deletes the object that was read.
func (c *clientTorture) delete(known, obj client.Object) {
	uid := known.GetUID()
	err := c.Delete(context.Background(), obj, client.Preconditions{UID: &uid})
	if err != nil {
		return
	}
	for _, h := range c.storage.History(apiserver.ConfigMaps.GroupResource()) {
		// An object that was only marked may have been removed by somebody else
		// meanwhile.
		if h.Type == watch.Deleted && h.Object.(*corev1.ConfigMap).UID == uid && h.Old.(*corev1.ConfigMap).DeletionTimestamp == nil {
			c.truth.gone(uid)
		}
	}
}

// deleteAll deletes a collection. Reads must not show what was gone when it returned.
func (c *clientTorture) deleteAll(namespace string) {
	before := c.storage.Revision()
	if err := c.DeleteAllOf(context.Background(), object("typed", "", ""), client.InNamespace(namespace), client.MatchingLabels{"x": "1"}); err != nil {
		c.truth.violated("DeleteAllOf: %v", err)
	}
	for _, h := range c.storage.History(apiserver.ConfigMaps.GroupResource()) {
		obj := h.Object.(*corev1.ConfigMap)
		// Another writer may have deleted some of them meanwhile, or changed the label.
		if h.Revision > before && h.Type == watch.Deleted && obj.Namespace == namespace && obj.Labels["x"] == "1" && c.alone(obj, before) {
			c.truth.gone(obj.UID)
		}
	}
}

// alone reports whether nobody else wrote an object between a revision and its end.
func (c *clientTorture) alone(obj *corev1.ConfigMap, since int64) bool {
	n := 0
	for _, h := range c.storage.History(apiserver.ConfigMaps.GroupResource()) {
		if h.Revision > since && h.Object.(*corev1.ConfigMap).UID == obj.UID {
			n++
		}
	}
	return n == 1
}

// foreign writes as another program.
func (c *clientTorture) foreign(rnd *rand.Rand) {
	key := randomKey(rnd)
	obj := configMap(key.Namespace, key.Name, randomLabels(rnd))
	switch rnd.IntN(4) {
	case 0:
		_, _ = c.storage.Create(obj)
	case 1:
		_, _ = c.storage.Delete(apiserver.ConfigMaps.GroupResource(), key, nil)
	default:
		_, _ = c.storage.Update(obj) // it fails if there is none
	}
}

// read reads in a random form, and compares the result with the truth.
func (c *clientTorture) read(rnd *rand.Rand) {
	ctx, key, form := context.Background(), randomKey(rnd), allForms[rnd.IntN(3)]
	if c.opts.DefaultNamespaces != nil && key.Namespace == "ns2" {
		return
	}
	began, hidden := time.Now(), c.truth.hidden()
	if slices.Contains(c.atOnce, "typed") && rnd.IntN(8) == 0 {
		floor := c.truth.floor("typed", key)
		var obj client.Object
		if cm, ok := c.view.Get(key); ok {
			obj = cm
		}
		c.truth.check("a view's Get", "typed", key, obj, floor, hidden)
	} else if rnd.IntN(2) == 0 {
		floor := c.truth.floor(form, key)
		obj := object(form, "", "")
		err := c.Get(ctx, key, obj)
		if apierrors.IsNotFound(err) {
			obj = nil
		} else if errors.Is(err, kinglet.ErrNotShown) {
			return // the watch stood still for too long
		} else if err != nil {
			c.truth.violated("Get of %s: %v", form, err)
			return
		}
		c.truth.check("Get", form, key, obj, floor, hidden)
	} else {
		c.list(ctx, rnd, form, key.Namespace, hidden)
	}
	if waited := time.Since(began); waited > 0 && slices.Contains(c.atOnce, form) {
		c.truth.violated("a read of %s waited for %v", form, waited)
	}
}

// list lists a namespace, as a whole or by an index or a label.
func (c *clientTorture) list(ctx context.Context, rnd *rand.Rand, form, namespace string, hidden map[types.UID]bool) {
	opts, how := []client.ListOption{client.InNamespace(namespace)}, rnd.IntN(3)
	switch {
	case how == 1 && form == "typed":
		opts = append(opts, client.MatchingFields{"x": "1"})
	case how == 2:
		opts = append(opts, client.MatchingLabels{"x": "1"})
	default:
		how = 0
	}
	floors := map[client.ObjectKey]int64{}
	for i := range 4 {
		key := keyed(namespace, fmt.Sprint("object-", i))
		floors[key] = c.truth.floor(form, key)
	}
	l := list(form)
	if err := c.List(ctx, l, opts...); errors.Is(err, kinglet.ErrNotShown) {
		return // the watch stood still for too long
	} else if err != nil {
		c.truth.violated("List of %s: %v", form, err)
		return
	}
	found := map[client.ObjectKey]client.Object{}
	each(l, func(obj client.Object) { found[client.ObjectKeyFromObject(obj)] = obj })
	for key, floor := range floors {
		obj := found[key]
		if obj != nil && how != 0 && obj.GetLabels()["x"] != "1" {
			c.truth.violated("List of %s by x=1 has %v", form, obj.GetLabels())
		}
		if obj != nil || how == 0 {
			c.truth.check("List", form, key, obj, floor, hidden)
		}
	}
}

// settled checks that reads end up with what the server has.
func (c *clientTorture) settled() {
	objs, _ := c.storage.List(apiserver.ConfigMaps.GroupResource())
	want := map[client.ObjectKey]string{}
	for _, o := range objs {
		if obj := o.(*corev1.ConfigMap); c.inCache(obj) {
			want[client.ObjectKeyFromObject(obj)] = obj.ResourceVersion
		}
	}
	for _, form := range allForms {
		began, got, l := time.Now(), map[client.ObjectKey]string{}, list(form)
		if err := c.List(context.Background(), l); err != nil || time.Since(began) != 0 {
			c.truth.violated("in the end a list of %s took %v: %v", form, time.Since(began), err)
		}
		each(l, func(obj client.Object) { got[client.ObjectKeyFromObject(obj)] = obj.GetResourceVersion() })
		if fmt.Sprint(got) != fmt.Sprint(want) {
			c.truth.violated("in the end %s has %v, and the server %v", form, got, want)
		}
	}
}
