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
	// Snapshots says that a View is of one moment also while the informer is
	// busy. Otherwise views count only while it is at rest.
	Snapshots bool
}

// Informer is one informer of an Engine.
type Informer interface {
	// Run returns when ctx has ended and nothing of the informer runs.
	Run(ctx context.Context)
	// AddHandler registers h, at any time.
	AddHandler(h *Recorder) (Registration, error)
	// Get reads the store.
	Get(namespace, name string) (Object, bool)
	// ResourceVersion is that which the store has come to.
	ResourceVersion() string
	// View reads all there is.
	View() View
}

// Registration is what is known of a handler.
type Registration struct {
	// Synced says that the handler has returned from the initial list.
	Synced func() bool
	// Pending is how many records wait for the handler, nil where nobody can
	// know or nothing was promised.
	Pending func() int
}

// View is what an informer shows.
type View struct {
	Version string
	Objects []Object
	// ByValue is what the index has.
	ByValue map[string][]Object
	// Quarantined are the names of objects whose latest version could not be
	// taken in, as far as the informer knows.
	Quarantined []string
	// Failures is how many versions could not be taken in, and Reported how
	// many of them were told one by one, -1 where that cannot be known.
	Failures, Reported int64
	// Degraded says that the informer knows that the store may differ from what
	// the server had at Version.
	Degraded bool
	// Err is what the store finds wrong with itself.
	Err error
}

// valueIndex is the index that informers of trials have, values is how many
// values there are.
const (
	valueIndex = "value"
	values     = 4
)

// everyVersionBound is the bound of those of kinglet's handlers that ask for
// every version: few, so that they reach it.
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

// report takes errors. Most are the faults that a trial is about.
func (k *kingletInformer) report(err error) {
	if _, ok := errors.AsType[*reflector.Error](err); ok {
		return // what it says of an event counts as none that was not taken in
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
