package torture

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// Object is what trials are about.
type Object = *corev1.ConfigMap

// Engine is an implementation of an informer.
type Engine struct {
	Name string
	// Start makes an informer of all config maps. It must not run before Run.
	Start func(cfg *rest.Config) (Informer, error)
	// Snapshots reports whether a View is consistent while the informer is busy.
	// Otherwise only views of an idle informer are checked.
	Snapshots bool
}

// Informer is one informer of an Engine.
type Informer interface {
	// Run returns after ctx has ended and all goroutines of the informer have.
	Run(ctx context.Context)
	// AddHandler registers h, at any time.
	AddHandler(h *Recorder) (Registration, error)
	// Get reads the store.
	Get(namespace, name string) (Object, bool)
	// ResourceVersion returns the version that the store has reached.
	ResourceVersion() string
	// View reads everything.
	View() View
}

// Registration is the state of a handler.
type Registration struct {
	// Synced reports whether the handler has returned from the initial list.
	Synced func() bool
	// Pending returns how many records wait for the handler. It is nil if the engine
	// does not know that, or promises no bound.
	Pending func() int
}

// View is the state that an informer shows.
type View struct {
	Version string
	Objects []Object
	// ByValue has the objects of each value of the index.
	ByValue map[string][]Object
	// Quarantined are the names of objects whose latest version could not be decoded,
	// as far as the informer knows.
	Quarantined []string
	// Failures counts versions that could not be decoded, and Reported the errors that
	// reported one of them; -1 if the engine does not tell.
	Failures, Reported int64
	// Degraded reports whether the informer knows that the store may differ from the
	// server's state at Version.
	Degraded bool
	// Err is an inconsistency that the store has found in itself.
	Err error
}

// valueIndex is the index of the informers of trials, and values the number of its
// values.
const (
	valueIndex = "value"
	values     = 4
)

// everyVersionBound is the bound of those of kinglet's handlers that ask for every
// version. It is low so that they reach it.
const everyVersionBound = 3

// Kinglet is package kinglet's informer.
func Kinglet() Engine {
	return Engine{Name: "kinglet", Snapshots: true, Start: func(cfg *rest.Config) (Informer, error) {
		src, err := source.FromConfig[Object](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
		if err != nil {
			return nil, err
		}
		k := &kingletInformer{}
		k.Informer, err = kinglet.New(src, kinglet.Options[Object]{
			OnError:  k.report,
			PageSize: 3,
			Indexers: map[string]kinglet.IndexFunc[Object]{
				valueIndex: func(o Object) ([]string, error) { return []string{o.Data["value"]}, nil },
			},
		})
		return k, err
	}}
}

type kingletInformer struct {
	*kinglet.Informer[Object]
	// items counts the objects that were reported.
	items atomic.Int64
}

// report counts errors of objects. Most other errors are the trial's own faults.
func (k *kingletInformer) report(err error) {
	if _, ok := errors.AsType[*reflector.Error](err); ok {
		return // its error is not that of a version that could not be decoded
	}
	if _, ok := errors.AsType[*kinglet.ItemError](err); ok {
		k.items.Add(1)
	}
}

func (k *kingletInformer) Run(ctx context.Context) { _ = k.Informer.Run(ctx) }

func (k *kingletInformer) AddHandler(r *Recorder) (Registration, error) {
	opts := kinglet.HandlerOptions{Name: r.Name}
	if r.every {
		opts.EveryVersion, opts.Bound = true, everyVersionBound
	}
	reg, err := k.Informer.AddHandler(kinglet.HandlerFuncs[Object]{
		OnAdd:    func(_ context.Context, o Object, initial bool) { r.Add(o, initial) },
		OnUpdate: func(_ context.Context, old, o Object) { r.Update(old, o) },
		OnDelete: func(_ context.Context, d kinglet.DeletedObject[Object]) { r.Delete(d.Object, d.FinalStateUnknown) },
	}, opts)
	if err != nil {
		return Registration{}, err
	}
	out := Registration{Synced: reg.HasSynced}
	if !r.every {
		out.Pending = reg.Pending
	}
	return out, nil
}

func (k *kingletInformer) Get(namespace, name string) (Object, bool) {
	return k.Store().Get(kinglet.Key{Namespace: namespace, Name: name})
}

func (k *kingletInformer) ResourceVersion() string { return k.Store().ResourceVersion("") }

func (k *kingletInformer) View() View {
	snap := k.Snapshot()
	v := View{
		Version: snap.ResourceVersion(""), ByValue: map[string][]Object{}, Err: snap.Check(),
		Degraded: k.Status().Degraded, Failures: int64(k.Status().Failures), Reported: k.items.Load(), Quarantined: namesOf(k.Quarantined()),
	}
	for o := range snap.All() {
		v.Objects = append(v.Objects, o)
	}
	for value := range valueNames() {
		objs, err := snap.ByIndex(valueIndex, value)
		if err != nil {
			v.Err = errors.Join(v.Err, err)
			continue
		}
		for o := range objs {
			v.ByValue[value] = append(v.ByValue[value], o)
		}
	}
	return v
}

func namesOf(quarantined []kinglet.Quarantined) []string {
	var names []string
	for i := range quarantined {
		names = append(names, quarantined[i].Key.Name)
	}
	return names
}
