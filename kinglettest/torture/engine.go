package torture

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// Object is what trials are about.
type Object = *corev1.ConfigMap

// Engine is an implementation of an informer.
type Engine struct {
	Name string
	// Start makes an informer of all config maps. It must not run before Run.
	Start func(cfg *rest.Config) (Informer, error)
}

// Informer is one informer of an Engine.
type Informer interface {
	// Run returns when ctx has ended and nothing of the informer runs.
	Run(ctx context.Context)
	// AddHandler registers h, at any time.
	AddHandler(h *Recorder) (synced func() bool, err error)
	// Get and List read the store.
	Get(namespace, name string) (Object, bool)
	List() []Object
	// ResourceVersion is that which the store has come to.
	ResourceVersion() string
	// Quarantined says that the latest version of an object could not be taken
	// in, and that the informer knows.
	Quarantined(namespace, name string) bool
	// Check looks at whether the store is consistent in itself.
	Check() error
}

// valueIndex is the index that informers of trials have.
const valueIndex = "value"

// Kinglet is package kinglet's informer.
func Kinglet() Engine {
	return Engine{Name: "kinglet", Start: func(cfg *rest.Config) (Informer, error) {
		src, err := source.FromConfig[Object](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
		if err != nil {
			return nil, err
		}
		inf, err := kinglet.New(src, kinglet.Options[Object]{
			OnError:  func(error) {}, // faults are what a trial is about
			PageSize: 3,
			Indexers: map[string]kinglet.IndexFunc[Object]{
				valueIndex: func(o Object) ([]string, error) { return []string{o.Data["value"]}, nil },
			},
		})
		return kingletInformer{inf}, err
	}}
}

type kingletInformer struct{ *kinglet.Informer[Object] }

func (k kingletInformer) Run(ctx context.Context) { _ = k.Informer.Run(ctx) }

func (k kingletInformer) AddHandler(r *Recorder) (func() bool, error) {
	reg, err := k.Informer.AddHandler(kinglet.HandlerFuncs[Object]{
		OnAdd:    func(_ context.Context, o Object, initial bool) { r.Add(o, initial) },
		OnUpdate: func(_ context.Context, old, o Object) { r.Update(old, o) },
		OnDelete: func(_ context.Context, d kinglet.DeletedObject[Object]) { r.Delete(d.Object, d.FinalStateUnknown) },
	}, kinglet.HandlerOptions{Name: r.Name})
	if err != nil {
		return nil, err
	}
	return reg.HasSynced, nil
}

func (k kingletInformer) Get(namespace, name string) (Object, bool) {
	return k.Store().Get(kinglet.Key{Namespace: namespace, Name: name})
}

func (k kingletInformer) List() []Object {
	var out []Object
	for o := range k.Store().All() {
		out = append(out, o)
	}
	return out
}

func (k kingletInformer) ResourceVersion() string { return k.Store().ResourceVersion("") }

func (k kingletInformer) Quarantined(namespace, name string) bool {
	return slices.ContainsFunc(k.Informer.Quarantined(), func(q kinglet.Quarantined) bool {
		return q.Key == kinglet.Key{Namespace: namespace, Name: name}
	})
}

func (k kingletInformer) Check() error { return k.Snapshot().Check() }

// ClientGo is client-go's informer.
func ClientGo() Engine {
	return sharedInformers("client-go", func(g kc.Getter, indexers kc.Indexers) kc.SharedIndexInformer {
		return kc.NewSharedIndexInformer(kc.NewListWatchFromClient(g, "configmaps", "", fields.Everything()), &corev1.ConfigMap{}, 0, indexers)
	})
}

// DropIn is package cache's informer.
func DropIn() Engine {
	return sharedInformers("kinglet's cache", func(g kc.Getter, indexers kc.Indexers) kc.SharedIndexInformer {
		return cache.NewSharedIndexInformer(cache.NewListWatchFromClient(g, "configmaps", "", fields.Everything()), &corev1.ConfigMap{}, 0, indexers)
	})
}

// sharedInformers are those that have client-go's interface.
func sharedInformers(name string, make func(kc.Getter, kc.Indexers) kc.SharedIndexInformer) Engine {
	return Engine{Name: name, Start: func(cfg *rest.Config) (Informer, error) {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		inf := make(client.CoreV1().RESTClient(), kc.Indexers{
			valueIndex: func(o any) ([]string, error) { return []string{o.(Object).Data["value"]}, nil },
		})
		err = inf.SetWatchErrorHandlerWithContext(func(context.Context, *kc.Reflector, error) {})
		return sharedInformer{inf}, err
	}}
}

type sharedInformer struct{ kc.SharedIndexInformer }

func (c sharedInformer) Run(ctx context.Context) { c.RunWithContext(ctx) }

func (c sharedInformer) AddHandler(r *Recorder) (func() bool, error) {
	reg, err := c.AddEventHandler(kc.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { r.Add(o.(Object), initial) },
		UpdateFunc: func(old, o any) { r.Update(old.(Object), o.(Object)) },
		DeleteFunc: func(o any) {
			if t, ok := o.(kc.DeletedFinalStateUnknown); ok {
				r.Delete(t.Obj.(Object), true)
				return
			}
			r.Delete(o.(Object), false)
		},
	})
	if err != nil {
		return nil, err
	}
	return reg.HasSynced, nil
}

func (c sharedInformer) Get(namespace, name string) (Object, bool) {
	o, ok, err := c.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil, false
	}
	return o.(Object), true
}

func (c sharedInformer) List() []Object {
	var out []Object
	for _, o := range c.GetIndexer().List() {
		out = append(out, o.(Object))
	}
	return out
}

func (c sharedInformer) ResourceVersion() string { return c.LastSyncResourceVersion() }

func (c sharedInformer) Quarantined(namespace, name string) bool {
	o, ok := c.SharedIndexInformer.(cache.Observable)
	return ok && slices.ContainsFunc(o.Quarantined(), func(q kinglet.Quarantined) bool {
		return q.Key == kinglet.Key{Namespace: namespace, Name: name}
	})
}

func (c sharedInformer) Check() error {
	for _, v := range c.GetIndexer().ListIndexFuncValues(valueIndex) {
		objs, err := c.GetIndexer().ByIndex(valueIndex, v)
		if err != nil {
			return err
		}
		for _, o := range objs {
			if got := o.(Object).Data["value"]; got != v {
				return fmt.Errorf("%s stands under %q in the index and has %q", o.(Object).Name, v, got)
			}
		}
	}
	return nil
}
