package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// tenure is the number of rounds of one informer. Each refusal doubles the time until its
// next request, unless a watch has lasted two minutes: 0.8 to 1.6 s, then 1.6 to 3.2 …
// After four rounds it would be 12.8 to 25.6 s, and in the end 30 to 60. The informers of
// the first two lanes, one of each kind, last through all rounds.
const (
	tenure    = 4
	permanent = 2
)

// roundTimeout bounds one round on a busy machine.
const roundTimeout = 3 * time.Minute

// lane is a definition that is created and deleted while informers of its objects run.
type lane struct {
	r     *rounds
	def   *definition
	plain bool // the drop-in's informer
	stays bool // one informer has all the rounds
	round int
}

func newLane(r *rounds, i int) *lane {
	return &lane{r: r, plain: i%2 == 1, stays: i < permanent, def: &definition{client: r.plane.dynamic, plural: fmt.Sprintf("things%d", i)}}
}

// tenant is an informer in a lane.
type tenant struct {
	run  kinglet.Runnable
	held func() objects
	*ledger
}

// run runs rounds while the lanes have any left, with a new informer after each tenure.
func (l *lane) run(ctx context.Context, left *atomic.Int64) error {
	for left.Add(-1) >= 0 {
		if err := l.tenancy(ctx, left); err != nil {
			return fmt.Errorf("%s: %w", l.def.name(), err)
		}
	}
	return nil
}

// tenancy runs rounds with one informer, at least one. The informer starts and stops
// while there is no definition.
func (l *lane) tenancy(ctx context.Context, left *atomic.Int64) error {
	t, err := l.tenant()
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- t.run.Run(running) }()
	for i := 0; err == nil && (i == 0 || ((l.stays || i < tenure) && left.Add(-1) >= 0)); i++ {
		within, cancel := context.WithTimeout(ctx, roundTimeout)
		err = l.one(within, t)
		cancel()
		l.round++
	}
	stop()
	return errors.Join(err, <-ended)
}

// one runs a round: a definition is created, then two objects of it, and all are deleted.
func (l *lane) one(ctx context.Context, t *tenant) error {
	if err := l.refused(ctx, t); err != nil {
		return err
	}
	if err := l.def.create(ctx); err != nil {
		return err
	}
	want := objects{}
	// One name is new in each round. The other is that of another object each time.
	for _, name := range []string{"same", fmt.Sprintf("round-%d", l.round)} {
		obj, err := l.def.add(ctx, churnNamespace(0), name, l.round)
		if err != nil {
			return err
		}
		want[nameOf(obj)] = obj
	}
	err := until(ctx, "the informer to equal the server", func() (bool, error) {
		held := t.held()
		if len(differences(want, held)) > 0 {
			return false, nil
		}
		behind, wrong := t.compare(held)
		if len(wrong) > 0 {
			return false, fmt.Errorf("guarantee 4: %v", wrong)
		}
		return len(behind) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("guarantee 1: %w; it is %+v, and has %v", err, t.run.Status(), differences(want, t.held()))
	}
	missed := t.missed()
	if err := l.def.delete(ctx); err != nil {
		return err
	}
	if err := l.refused(ctx, t); err != nil {
		return err
	}
	// With the definition, the server deletes its objects one by one. The informer
	// may receive some of those deletes. It keeps the other objects.
	if n := t.missed() - missed; n > 0 {
		return fmt.Errorf("guarantee 11: %d objects were taken for deleted because the server refused to list them", n)
	}
	return nil
}

// refused waits until the informer reports that there is no such resource.
func (l *lane) refused(ctx context.Context, t *tenant) error {
	err := until(ctx, "the informer to say that there is no such resource", func() (bool, error) {
		return apierrors.IsNotFound(t.run.Status().LastError), nil
	})
	if err != nil {
		return fmt.Errorf("guarantee 11: %w; it is %+v", err, t.run.Status())
	}
	return nil
}

// missed counts the deletes that only a list showed.
func (l *ledger) missed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unknown
}

func (l *lane) tenant() (*tenant, error) {
	book := newLedger(l.def.plural)
	report := func(error) { l.r.failures.Add(1) }
	if l.plain {
		return l.plainTenant(book, report)
	}
	src, err := source.FromConfig[*unstructured.Unstructured](l.r.plane.pooled(), l.def.gvr(), source.Options{})
	if err != nil {
		return nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[*unstructured.Unstructured]{OnError: report})
	if err != nil {
		return nil, err
	}
	_, err = inf.AddHandler(typedLedger[*unstructured.Unstructured]{book}, kinglet.HandlerOptions{})
	return &tenant{run: inf, ledger: book, held: func() objects {
		out := objects{}
		for obj := range inf.Store().All() {
			out[nameOf(obj)] = obj
		}
		return out
	}}, err
}

func (l *lane) plainTenant(book *ledger, report func(error)) (*tenant, error) {
	client, err := dynamic.NewForConfig(l.r.plane.pooled())
	if err != nil {
		return nil, err
	}
	things := client.Resource(l.def.gvr())
	inf := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return things.List(ctx, lo)
		},
		WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return things.Watch(ctx, lo)
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})
	err = inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { report(err) })
	if err != nil {
		return nil, err
	}
	if _, err := inf.AddEventHandler(plainLedger{book}); err != nil {
		return nil, err
	}
	return &tenant{run: &dropInRun{inf, inf.(cache.Observable)}, ledger: book, held: func() objects { return heldBy(inf) }}, nil
}
