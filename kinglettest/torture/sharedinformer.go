package torture

import (
	"context"
	"errors"
	"iter"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
)

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

// sharedInformers returns the engine of an informer with client-go's interface.
func sharedInformers(name string, make func(kc.Getter, kc.Indexers) kc.SharedIndexInformer) Engine {
	return Engine{Name: name, Start: func(cfg *rest.Config) (Informer, error) {
		// A client of one group, since a whole clientset costs more than a trial.
		gv := corev1.SchemeGroupVersion
		cfg = rest.CopyConfig(cfg)
		cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &gv, scheme.Codecs.WithoutConversion()
		client, err := rest.RESTClientFor(cfg)
		if err != nil {
			return nil, err
		}
		inf := make(client, kc.Indexers{
			valueIndex: func(o any) ([]string, error) { return []string{o.(Object).Data["value"]}, nil },
		})
		err = inf.SetWatchErrorHandlerWithContext(func(context.Context, *kc.Reflector, error) {})
		return sharedInformer{inf}, err
	}}
}

type sharedInformer struct{ kc.SharedIndexInformer }

func (c sharedInformer) Run(ctx context.Context) { c.RunWithContext(ctx) }

func (c sharedInformer) AddHandler(r *Recorder) (Registration, error) {
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
		return Registration{}, err
	}
	return Registration{Synced: reg.HasSynced}, nil
}

func (c sharedInformer) Get(namespace, name string) (Object, bool) {
	o, ok, err := c.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil, false
	}
	return o.(Object), true
}

func (c sharedInformer) ResourceVersion() string { return c.LastSyncResourceVersion() }

func (c sharedInformer) View() View {
	v := View{Version: c.LastSyncResourceVersion(), ByValue: map[string][]Object{}, Reported: -1}
	for _, o := range c.GetIndexer().List() {
		v.Objects = append(v.Objects, o.(Object))
	}
	for value := range valueNames() {
		objs, err := c.GetIndexer().ByIndex(valueIndex, value)
		v.Err = errors.Join(v.Err, err)
		for _, o := range objs {
			v.ByValue[value] = append(v.ByValue[value], o.(Object))
		}
	}
	if o, ok := c.SharedIndexInformer.(cache.Observable); ok {
		v.Degraded = o.Status().Degraded
		v.Failures, v.Quarantined = int64(o.Status().Failures), namesOf(o.Quarantined())
	}
	return v
}

// valueNames yields the values of the index.
func valueNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range values {
			if !yield(strconv.Itoa(i)) {
				return
			}
		}
	}
}
