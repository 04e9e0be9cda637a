package ctrlruntime

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// answer makes the world answer the lists and watches of pods with a code, n times or,
// if n is negative, until answer is called again.
func (w *world) answer(code, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = 2 * time.Millisecond
	w.refuse = func(r *apiserver.Request) error {
		if n == 0 || r.Resource.Resource != "pods" || r.Verb == "get" {
			return nil
		}
		n--
		return apierrors.NewGenericServerResponse(code, "get", r.Resource, "", "", 0, true)
	}
}

var podForms = map[string]struct {
	one  func() client.Object
	many func() client.ObjectList
}{
	"typed": {func() client.Object { return &corev1.Pod{} }, func() client.ObjectList { return &corev1.PodList{} }},
	"unstructured": {func() client.Object { return anObject(untypedPods) }, func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(podKind)
		return list
	}},
	"metadata": {func() client.Object { return anObject(podMetadata) }, func() client.ObjectList { return metadataList() }},
}

// within returns what read returns, and how long it took of a minute.
func within(read func(context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	err := read(ctx)
	return time.Since(began), err
}

func TestAReadOfAKindThatTheServerDoesNotListFailsSoon(t *testing.T) {
	for form, of := range podForms {
		for name, opts := range map[string]cache.Options{
			"all namespaces":     {},
			"several namespaces": {DefaultNamespaces: spaces("a", "b")},
		} {
			for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
				t.Run(form+", "+name+", "+http.StatusText(code), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.create(pod("a", "p", "n1", nil))
						w.answer(code, -1)
						c, end := w.run(ctrlruntime.NewCache, opts)
						defer end()
						reads := map[string]func(context.Context) error{
							"Get":  func(ctx context.Context) error { return c.Get(ctx, keyed("a", "p"), of.one()) },
							"List": func(ctx context.Context) error { return c.List(ctx, of.many()) },
						}
						for name, read := range reads {
							took, err := within(read)
							var refused *ctrlruntime.UnlistableError
							if !errors.As(err, &refused) || refused.Resource.Resource != "pods" || refused.Kind != podKind || took > 10*time.Second {
								t.Errorf("%s after %v: %v", name, took, err)
							}
							if err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "does not list pods") {
								t.Errorf("%s: %v", name, err)
							}
							testbubble.Elapse(10 * time.Second) // each namespace has been refused twice
							if again, err := within(read); again > 0 || err == nil {
								t.Errorf("%s takes %v the second time: %v", name, again, err)
							}
						}
						// An informer waits, since the kind may be defined later.
						_, err := within(func(ctx context.Context) error {
							_, err := c.GetInformer(ctx, of.one())
							return err
						})
						if !apierrors.IsTimeout(err) {
							t.Errorf("GetInformer: %v", err)
						}
						w.answer(code, 0)
						if _, err := c.GetInformer(context.Background(), of.one()); err != nil {
							t.Error(err)
						}
						for name, read := range reads {
							if took, err := within(read); err != nil || took > 0 {
								t.Errorf("once it is listed, %s after %v: %v", name, took, err)
							}
						}
					})
				})
			}
		}
	}
}

// What may pass is waited for, as controller-runtime does: a single 404, as of a server
// that does not know a new definition yet, a permission that is not granted yet, and
// errors of the server.
func TestAReadWaitsForAListThatMaySucceedLater(t *testing.T) {
	for form, of := range podForms {
		for what, fails := range map[string]struct{ code, times int }{
			"one 404":             {http.StatusNotFound, 1},
			"a stream and a list": {http.StatusNotFound, 2},
			"one 405":             {http.StatusMethodNotAllowed, 1},
			"403s":                {http.StatusForbidden, 10},
			"500s":                {http.StatusInternalServerError, 4},
			"503s":                {http.StatusServiceUnavailable, 4},
		} {
			t.Run(form+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.create(pod("a", "p", "n1", nil))
					c, end := w.run(ctrlruntime.NewCache, cache.Options{})
					defer end()
					w.answer(fails.code, fails.times)
					ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
					defer cancel()
					if err := c.Get(ctx, keyed("a", "p"), of.one()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// Only refusals that last are taken for the server's last word, whatever it answered before
// them, and whether a read was there or comes later.
func TestAReadIsRefusedOnlyAfterRefusalsThatLast(t *testing.T) {
	seed := testkit.Seed(t)
	refused := func(code int) bool { return code == http.StatusNotFound || code == http.StatusMethodNotAllowed }
	failed := 0
	for trial := range uint64(400) {
		rnd, answers := rand.New(rand.NewPCG(seed, trial)), rand.New(rand.NewPCG(trial, seed))
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create(pod("a", "p", "n1", nil))
			// began is when the last refusals began, lasted how long they went on, and over
			// when the request was sent that was answered otherwise; zero if none was.
			var began, over time.Time
			var lasted time.Duration
			code, times := 0, rnd.IntN(12)
			w.delay = 10 * time.Millisecond
			w.refuse = func(r *apiserver.Request) error {
				if code == 0 || answers.IntN(2) == 0 {
					code = []int{http.StatusNotFound, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusInternalServerError}[answers.IntN(5)]
				}
				if times--; times < 0 {
					return nil
				}
				switch now := time.Now(); {
				case r.Namespace == "b": // which is not read
				case !refused(code):
					over = now
				case began.IsZero() || !over.IsZero():
					began, over, lasted = now, time.Time{}, 0
				default:
					lasted = now.Sub(began)
				}
				return apierrors.NewGenericServerResponse(code, "get", r.Resource, "", "", 0, true)
			}
			c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: [...]map[string]cache.Config{nil, spaces("a"), spaces("a", "b")}[rnd.IntN(3)]})
			defer end()
			if rnd.IntN(2) == 0 {
				_, err := c.GetInformer(t.Context(), &corev1.Pod{}, cache.BlockUntilSynced(false))
				ok(t, err)
				testbubble.Elapse(time.Duration(rnd.Int64N(int64(5 * time.Second))))
			}
			err := c.Get(t.Context(), keyed("a", "p"), &corev1.Pod{})
			w.mu.Lock()
			defer w.mu.Unlock()
			var e *ctrlruntime.UnlistableError
			switch {
			case !errors.As(err, &e) && err != nil:
				t.Errorf("seed %d, trial %d: %v", seed, trial, err)
			case err != nil && (lasted < time.Second/2 || !over.IsZero() && time.Since(over) > w.delay):
				t.Errorf("seed %d, trial %d: refused, and the last refusals began at %v, lasted %v and were over at %v", seed, trial, began, lasted, over)
			case err != nil:
				failed++
			}
		})
	}
	if failed < 20 {
		t.Errorf("%d trials were refused, which are too few", failed)
	}
}

// A watch that is refused does not matter to readers once the kind has been listed.
func TestAKindThatCanBeListedAndNotWatchedIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		w.refuse = func(r *apiserver.Request) error {
			if r.Verb == "watch" {
				return apierrors.NewMethodNotSupported(r.Resource, "watch")
			}
			return nil
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		for range 3 {
			if took, err := within(func(ctx context.Context) error { return c.Get(ctx, keyed("a", "p"), &corev1.Pod{}) }); err != nil || took > time.Second {
				t.Errorf("after %v: %v", took, err)
			}
			testbubble.Elapse(time.Minute)
		}
		if err := c.List(context.Background(), &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}); err != nil {
			t.Error(err)
		}
	})
}
