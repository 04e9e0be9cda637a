package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

func TestMain(m *testing.M) {
	// client-go tells of every fault.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := writeCounts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

type object = *corev1.ConfigMap

// engine is an implementation of an informer.
type engine struct {
	name  string
	start func(cfg *rest.Config, report func(error)) (informer, error)
}

// informer is one informer of all config maps.
type informer interface {
	// Run returns when ctx has ended and nothing of the informer runs.
	Run(ctx context.Context)
	AddHandler(h *recorder) error
	List() []object
	ResourceVersion() string
	HasSynced() bool
	Status() kinglet.Status
	Quarantined() []kinglet.Quarantined
}

func engines() []engine {
	return []engine{
		{name: "kinglet", start: startKinglet},
		{name: "cache", start: startShared},
	}
}

func startKinglet(cfg *rest.Config, report func(error)) (informer, error) {
	src, err := source.FromConfig[object](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
	if err != nil {
		return nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[object]{OnError: report})
	return typed{inf}, err
}

type typed struct{ *kinglet.Informer[object] }

func (k typed) Run(ctx context.Context) { _ = k.Informer.Run(ctx) }

func (k typed) AddHandler(r *recorder) error {
	_, err := k.Informer.AddHandler(kinglet.HandlerFuncs[object]{
		OnAdd:    func(_ context.Context, o object, _ bool) { r.add(o) },
		OnUpdate: func(_ context.Context, old, o object) { r.update(old, o) },
		OnDelete: func(_ context.Context, d kinglet.DeletedObject[object]) { r.delete(d.Object, d.FinalStateUnknown) },
	}, kinglet.HandlerOptions{EveryVersion: true, Bound: 1 << 12})
	return err
}

func (k typed) List() []object {
	var out []object
	for o := range k.Store().All() {
		out = append(out, o)
	}
	return out
}

func (k typed) ResourceVersion() string { return k.Store().ResourceVersion("") }

func startShared(cfg *rest.Config, report func(error)) (informer, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "", fields.Everything())
	inf := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
	err = inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *kc.Reflector, err error) { report(err) })
	return shared{inf, inf.(cache.Observable)}, err
}

// shared is an informer of package cache.
type shared struct {
	kc.SharedIndexInformer
	cache.Observable
}

func (c shared) Run(ctx context.Context) { c.RunWithContext(ctx) }

func (c shared) AddHandler(r *recorder) error {
	_, err := c.AddEventHandler(kc.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.add(o.(object)) },
		UpdateFunc: func(old, o any) { r.update(old.(object), o.(object)) },
		DeleteFunc: func(o any) {
			if t, ok := o.(kc.DeletedFinalStateUnknown); ok {
				r.delete(t.Obj.(object), true)
				return
			}
			r.delete(o.(object), false)
		},
	})
	return err
}

func (c shared) List() []object {
	var out []object
	for _, o := range c.GetStore().List() {
		out = append(out, o.(object))
	}
	return out
}

func (c shared) ResourceVersion() string { return c.LastSyncResourceVersion() }
