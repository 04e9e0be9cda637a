package ownwrites_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

type pod = *corev1.Pod

func key(name string) kinglet.Key { return kinglet.Key{Namespace: testpods.Namespace, Name: name} }

func byNode(p pod) ([]string, error) { return []string{p.Spec.NodeName}, nil }

// behind is an informer of pods on a server in memory whose watch stands still.
type behind struct {
	t        *testing.T
	storage  *apiserver.Storage
	server   *apiserver.Server
	informer *kinglet.Informer[pod]

	mu    sync.Mutex
	errs  []error // guarded by mu
	stop  context.CancelFunc
	ended chan error
}

// newBehind makes one of the given pods, and runs it.
func newBehind(t *testing.T, src source.Options, opts kinglet.Options[pod], pods ...pod) *behind {
	t.Helper()
	b := &behind{t: t, storage: apiserver.NewStorage(apiserver.Pods), ended: make(chan error, 1)}
	b.server = apiserver.New(b.storage, apiserver.Options{})
	s, err := source.FromConfig[pod](b.server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), src)
	if err != nil {
		t.Fatal(err)
	}
	b.use(s, opts)
	for _, p := range pods {
		b.create(p)
	}
	b.run()
	return b
}

func (b *behind) use(src source.Source[pod], opts kinglet.Options[pod]) {
	b.t.Helper()
	opts.OnError = func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errs = append(b.errs, err)
	}
	if opts.Indexers == nil {
		opts.Indexers = map[string]kinglet.IndexFunc[pod]{"node": byNode}
	}
	var err error
	if b.informer, err = kinglet.New(src, opts); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the informer, and has the watch stand still once all is quiet.
func (b *behind) run() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go func() { b.ended <- b.informer.Run(ctx) }()
	synctest.Wait()
	b.server.Hold()
}

func (b *behind) end() {
	b.stop()
	if err := <-b.ended; err != nil {
		b.t.Error(err)
	}
	b.server.Close()
}

// catchUp lets the watch go on.
func (b *behind) catchUp() {
	b.server.Release()
	synctest.Wait()
	b.server.Hold()
}

func (b *behind) answer(obj runtime.Object, err error) pod {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	return obj.(pod)
}

func (b *behind) create(p pod) pod {
	b.t.Helper()
	return b.answer(b.storage.Create(p))
}

func (b *behind) update(p pod) pod {
	b.t.Helper()
	return b.answer(b.storage.Update(p))
}

func (b *behind) delete(name string) pod {
	b.t.Helper()
	return b.answer(b.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: "ns", Name: name}, nil))
}

func (b *behind) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// shows fails unless reads show pods on nodes, as "name on node", by all ways.
func (b *behind) shows(want ...string) {
	b.t.Helper()
	for _, r := range []kinglet.Reader[pod]{b.informer.Store(), b.informer.Snapshot()} {
		var got, indexed []string
		for p := range r.All() {
			got = append(got, p.Name+" on "+p.Spec.NodeName)
			if held, ok := r.Get(key(p.Name)); !ok || held != p {
				b.t.Errorf("Get of %s: %v, and All has %v", p.Name, held, p)
			}
		}
		if !slices.Equal(got, want) || r.Len() != len(want) {
			b.t.Errorf("reads show %v (%d), want %v", got, r.Len(), want)
		}
		values, err := r.IndexValues("node")
		if err != nil {
			b.t.Fatal(err)
		}
		for node := range values {
			objs, _ := r.ByIndex("node", node)
			n := 0
			for p := range objs {
				n++
				indexed = append(indexed, p.Name+" on "+node)
			}
			if count, _ := r.IndexCount("node", node); count != n {
				b.t.Errorf("%d objects on %s, and a count of %d", n, node, count)
			}
		}
		if slices.Sort(indexed); !slices.Equal(indexed, want) {
			b.t.Errorf("the index shows %v, want %v", indexed, want)
		}
	}
}

func (b *behind) reported() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.errs)
}

func (b *behind) own() own.Status { return b.informer.Status().OwnWrites }
