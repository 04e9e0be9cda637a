package page_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// unreadable is an error of which one method panics, as those of a nil pointer do.
type unreadable string

func (u unreadable) panics(method unreadable) {
	if u == method {
		panic(string(method))
	}
}

func (u unreadable) Error() string         { u.panics("Error"); return string(u) }
func (u unreadable) Unwrap() error         { u.panics("Unwrap"); return nil }
func (u unreadable) Is(error) bool         { u.panics("Is"); return false }
func (u unreadable) As(any) bool           { u.panics("As"); return false }
func (u unreadable) Status() metav1.Status { u.panics("Status"); return metav1.Status{} }

// candidate is an elector that never leads.
type candidate struct{ acquire, err error }

func (c candidate) Acquire(ctx context.Context) (controller.Leadership, error) {
	if c.acquire != nil {
		return nil, c.acquire
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c candidate) Err() error { return c.err }

// TestErrorsThatCannotBeReadEndNothing returns them from every function of the program that
// may return an error. The set runs, and it can be looked at.
func TestErrorsThatCannotBeReadEndNothing(t *testing.T) {
	bad := []error{(*apierrors.StatusError)(nil)}
	for _, method := range []unreadable{"Error", "Unwrap", "Is", "As", "Status"} {
		bad = append(bad, method, fmt.Errorf("it fails: %w", method), errors.Join(errors.New("another"), method))
	}
	for place, in := range map[string]func(p *parts, err error){
		"list": func(p *parts, err error) {
			p.static.RefuseWatchList(apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "", nil))
			p.static.FailLists(3, err)
		},
		"watch": func(p *parts, err error) { p.static.FailWatches(3, err) },
		"transform": func(p *parts, err error) {
			p.source = source.Map(p.static, func(*corev1.Pod) (*corev1.Pod, error) { return nil, err })
		},
		"index": func(p *parts, err error) {
			p.informer.Indexers = map[string]kinglet.IndexFunc[*corev1.Pod]{"x": func(*corev1.Pod) ([]string, error) { return nil, err }}
		},
		"key": func(p *parts, err error) {
			p.informer.KeyFunc = func(*corev1.Pod) (kinglet.Key, error) { return kinglet.Key{}, err }
		},
		"reconcile": func(p *parts, err error) { p.reconciled = err },
		"terminal":  func(p *parts, err error) { p.reconciled = controller.Terminal(err) },
		"retry":     func(p *parts, err error) { p.reconciled = controller.RetryAfter(time.Second, err) },
		"acquire":   func(p *parts, err error) { p.controller.Elector = candidate{acquire: err} },
		"elector":   func(p *parts, err error) { p.controller.Elector = candidate{err: err} },
	} {
		t.Run(place, func(t *testing.T) {
			for _, err := range bad {
				synctest.Test(t, func(t *testing.T) {
					static := sourcetest.NewStatic(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})
					p := &parts{static: static, source: static}
					in(p, err)
					p.run(t)
				})
			}
		})
	}
}

// parts are what a set is made of.
type parts struct {
	static     *sourcetest.Static[*corev1.Pod]
	source     source.Source[*corev1.Pod]
	informer   kinglet.Options[*corev1.Pod]
	controller controller.Options[kinglet.Key]
	reconciled error
}

// run runs the set for a minute, and looks at it then and after its end.
func (p *parts) run(t *testing.T) {
	informer, err := kinglet.New(p.source, p.informer)
	if err != nil {
		t.Fatal(err)
	}
	reconcile := func(context.Context, kinglet.Key) (controller.Result, error) {
		return controller.Result{}, p.reconciled
	}
	c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](reconcile), p.controller)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := controller.Watch(c, informer, controller.Self); err != nil {
		t.Fatal(err)
	}
	set := kinglet.NewSet(informer)
	set.AddController(c)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- set.Run(ctx) }()
	for range 2 {
		testbubble.Elapse(time.Minute)
		for _, query := range []string{"/", "/?format=json"} {
			page.Handler(set).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", query, nil))
		}
		for _, s := range set.Status() {
			_ = fmt.Sprint(s.Problems(time.Now()))
		}
		controllers, _ := set.Controllers()
		for _, c := range controllers {
			s := c.Status()
			_ = fmt.Sprint(s.Problems(time.Now()))
		}
		_ = fmt.Sprint(set.Check(nil), set.Ready(nil))
		stop()
	}
	_ = fmt.Sprint(<-ended)
}
