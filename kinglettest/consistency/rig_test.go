package consistency_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

type configMap = *corev1.ConfigMap

// checked is an informer of config maps over HTTP, in a bubble.
type checked struct {
	*testing.T
	storage  *apiserver.Storage
	server   *apiserver.Server
	informer *kinglet.Informer[configMap]

	mu    sync.Mutex
	errs  []error  // guarded by mu
	lines []string // guarded by mu; what the handler was told
}

// inChecked runs test in a bubble, with a server that has the given objects,
// named "namespace/name", and an informer that has synced.
func inChecked(t *testing.T, objects []string, server apiserver.Options, opts kinglet.Options[configMap], over func(source.Source[configMap]) source.Source[configMap], test func(*checked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &checked{T: t, storage: apiserver.NewStorage(apiserver.ConfigMaps)}
		for _, name := range objects {
			c.create(name)
		}
		c.server = apiserver.New(c.storage, server)
		defer c.server.Close()
		src, err := source.FromConfig[configMap](c.server.Config(), apiserver.ConfigMaps.GroupVersionResource, source.Options{})
		c.must(err)
		if over != nil {
			src = over(src)
		}
		opts.OnError = func(err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.errs = append(c.errs, err)
		}
		c.informer, err = kinglet.New(src, opts)
		c.must(err)
		_, err = c.informer.AddHandler(kinglet.HandlerFuncs[configMap]{
			OnAdd: func(_ context.Context, obj configMap, initial bool) {
				if !initial {
					c.told("add " + obj.Name)
				}
			},
			OnUpdate: func(_ context.Context, _, obj configMap) { c.told("update " + obj.Name) },
			OnDelete: func(_ context.Context, d kinglet.DeletedObject[configMap]) {
				c.told(fmt.Sprintf("delete %s, final state unknown %v", d.Key.Name, d.FinalStateUnknown))
			},
		}, kinglet.HandlerOptions{})
		c.must(err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.informer.Run(ctx) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error("Run returned", err)
			}
		}()
		c.must(c.informer.WaitSynced(ctx))
		synctest.Wait()
		test(c)
	})
}

func (c *checked) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *checked) told(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

// take returns what the handler was told and what was reported since the last
// take.
func (c *checked) take() (lines []string, errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, errs = c.lines, c.errs
	c.lines, c.errs = nil, nil
	return lines, errs
}

func parted(name string) (namespace, rest string) {
	namespace, rest, _ = strings.Cut(name, "/")
	return namespace, rest
}

func named(name string) kinglet.Key {
	namespace, rest := parted(name)
	return kinglet.Key{Namespace: namespace, Name: rest}
}

func (c *checked) create(name string) {
	c.Helper()
	namespace, rest := parted(name)
	_, err := c.storage.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rest}, Data: map[string]string{"n": "0"},
	})
	c.must(err)
}

func (c *checked) update(name string) {
	c.Helper()
	for _, obj := range c.has() {
		if obj.Namespace+"/"+obj.Name == name {
			obj = obj.DeepCopy()
			n, _ := strconv.Atoi(obj.Data["n"])
			obj.Data["n"] = strconv.Itoa(n + 1)
			_, err := c.storage.Update(obj)
			c.must(err)
		}
	}
}

func (c *checked) delete(name string) {
	c.Helper()
	namespace, rest := parted(name)
	_, err := c.storage.Delete(apiserver.ConfigMaps.GroupResource(), types.NamespacedName{Namespace: namespace, Name: rest}, nil)
	c.must(err)
}

// has is what the server has.
func (c *checked) has() (objs []configMap) {
	all, _ := c.storage.List(apiserver.ConfigMaps.GroupResource())
	for _, obj := range all {
		objs = append(objs, obj.(configMap))
	}
	return objs
}

// equal fails unless the store holds what the server does.
func (c *checked) equal() {
	c.Helper()
	want := map[kinglet.Key]string{}
	for _, obj := range c.has() {
		want[kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}] = fmt.Sprint(obj.UID, obj.ResourceVersion, obj.Data)
	}
	for obj := range c.informer.Store().All() {
		key := kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}
		if got := fmt.Sprint(obj.UID, obj.ResourceVersion, obj.Data); got != want[key] {
			c.Errorf("the store has %s as %s, the server as %q", key, got, want[key])
		}
		delete(want, key)
	}
	for key := range want {
		c.Errorf("the store lacks %s", key)
	}
}

func (c *checked) check() kinglet.ConsistencyReport {
	c.Helper()
	report, err := c.informer.CheckConsistency(c.Context())
	c.must(err)
	return report
}

// damages are what may be wrong with a store, done behind its informer's back.
var damages = map[consistency.Kind]func(c *checked, name string){
	kinglet.Missing: func(c *checked, name string) {
		c.must(c.informer.WritableStore().Write(store.Op[configMap]{Key: named(name), Delete: true}))
	},
	kinglet.Surplus: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.Name, obj.UID = obj.Name+"-ghost", "ghost"
		c.write(obj)
	},
	kinglet.OtherVersion: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.ResourceVersion = "7"
		c.write(obj)
	},
	kinglet.OtherObject: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.UID = "another"
		c.write(obj)
	},
	kinglet.OtherContent: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.Data = map[string]string{"n": "altered"}
		c.write(obj)
	},
}

// write puts an object into the store by hand.
func (c *checked) write(obj configMap) {
	c.Helper()
	c.must(c.informer.WritableStore().Write(store.Op[configMap]{
		Key: kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}, Object: obj,
	}))
}
