package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
)

// panicking is the first argument of a child process whose handler is to panic. It is
// followed by one of the ways below and a kubeconfig.
const (
	panicking = "panicking"

	// typedEnds is a typed informer with its defaults: the process ends, and names
	// handler and object.
	typedEnds = "typed"
	// typedRecovers has RecoverPanics: the panic is reported, and the next object is
	// handled.
	typedRecovers = "typed, recovered"
	// dropInEnds is the drop-in with its defaults: the process ends, and names the
	// object.
	dropInEnds = "drop-in"
	// dropInSurvives is the drop-in in a program that turned ReallyCrash off: the handler
	// goes on with the next object.
	dropInSurvives = "drop-in, ReallyCrash off"
)

// The namespace of the children has two ConfigMaps. Handlers panic for the first.
const (
	panicNamespace = "soak-panic"
	unlucky        = "a-unlucky"
	lucky          = "b-lucky"
	// panicHandler is the name of a typed handler, and panicValue the value of its
	// panic.
	panicHandler = "the one that panics"
	panicValue   = "as it was told to"
)

// Exit codes of a child. A panic ends a Go process with 2.
const (
	childPanicked = 2
	childFailed   = 3
)

// childTimeout bounds a child, which may have to wait for an API server.
const childTimeout = 2 * time.Minute

// panicAsTold is a child's main function.
func panicAsTold(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "soak: this is for the soak's own children")
		return childFailed
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	if err := panicIn(ctx, args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return childFailed
	}
	return 0
}

// panicIn returns nil once a handler has received the lucky object after its panic. If
// panics end the process, it does not return.
func panicIn(ctx context.Context, way, kubeconfig string) error {
	cfg, err := kinglettest.ConfigFrom(kubeconfig)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	saw := make(chan struct{}, 1)
	see := func(name string) {
		switch name {
		case unlucky:
			panic(panicValue)
		case lucky:
			saw <- struct{}{}
		}
	}
	run, reported, err := panicker(cfg, way, see)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Run(running) }()
	select {
	case <-saw:
	case err := <-ended:
		return errors.Join(errors.New("the informer has ended"), err)
	case <-ctx.Done():
		return run.WaitSynced(ctx)
	}
	stop()
	return errors.Join(<-ended, reported())
}

// panicker makes an informer whose handler calls see, and a function that reports whether
// the panic was reported as documented.
func panicker(cfg *rest.Config, way string, see func(name string)) (kinglet.Runnable, func() error, error) {
	if way == dropInEnds || way == dropInSurvives {
		utilruntime.ReallyCrash = way == dropInEnds
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", panicNamespace, nil)
		inf := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
		_, err = inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { see(obj.(*corev1.ConfigMap).Name) },
		})
		return &dropInRun{inf, inf.(cache.Observable)}, func() error { return nil }, err
	}
	src, err := source.FromConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{Namespace: panicNamespace})
	if err != nil {
		return nil, nil, err
	}
	told := make(chan *kinglet.HandlerPanicError, 1)
	inf, err := kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{OnError: func(err error) {
		var panicked *kinglet.HandlerPanicError
		if errors.As(err, &panicked) {
			told <- panicked
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	_, err = inf.AddHandler(kinglet.HandlerFuncs[*corev1.ConfigMap]{
		OnAdd: func(_ context.Context, obj *corev1.ConfigMap, _ bool) { see(obj.Name) },
	}, kinglet.HandlerOptions{Name: panicHandler, RecoverPanics: way == typedRecovers})
	return inf, func() error {
		select {
		case p := <-told:
			if p.Handler != panicHandler || p.Key.Name != unlucky || p.Value != panicValue {
				return fmt.Errorf("the panic was reported as %q of %q on %s", p.Value, p.Handler, p.Key)
			}
			return nil
		default:
			return errors.New("the panic was not reported")
		}
	}, err
}
