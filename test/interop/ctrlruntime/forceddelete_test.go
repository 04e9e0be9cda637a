package ctrlruntime

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// forced answers the deletion of a collection of pods as a server does that ends them at once:
// with the pods as they were. Those with a finalizer of their own stay, with no grace left.
type forced struct {
	*world
	next http.RoundTripper
}

func (f *forced) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodDelete {
		return f.next.RoundTrip(req)
	}
	objs, _ := f.storage.List(corev1.Resource("pods"))
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, o := range objs {
		was := o.(*corev1.Pod).DeepCopy()
		now := was.DeepCopy()
		if was.DeletionTimestamp == nil {
			marked, err := f.storage.Delete(corev1.Resource("pods"), keyed(was.Namespace, was.Name), nil)
			ok(f.t, err)
			now = marked.(*corev1.Pod).DeepCopy()
		}
		now.Finalizers = now.Finalizers[1:] // the first plays the grace period
		none := int64(0)
		now.DeletionGracePeriodSeconds = &none
		_, err := f.storage.Update(now)
		ok(f.t, err)
		was.Finalizers = was.Finalizers[1:]
		if was.DeletionTimestamp != nil {
			grace := int64(30)
			was.DeletionGracePeriodSeconds = &grace
		}
		was.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		list.Items = append(list.Items, *was)
	}
	return answer(list)
}

// Pods that are ending already, and are ended at once, are gone, or as the server left them.
func TestWhatAClientDeletesAtOnceIsGoneWhoeverMarkedIt(t *testing.T) {
	for _, marked := range []bool{false, true} {
		for _, stays := range []bool{false, true} {
			for _, seen := range []bool{false, true} {
				t.Run(fmt.Sprintf("marked %t, has a finalizer %t, the cache has seen it %t", marked, stays, seen), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						p := pod("ns", "p", "n1", nil)
						if p.Finalizers = []string{"grace/period"}; stays {
							p.Finalizers = append(p.Finalizers, "a/b")
						}
						w.create(p)
						mark := func() {
							if marked {
								_, err := w.storage.Delete(corev1.Resource("pods"), keyed("ns", "p"), nil)
								ok(t, err)
							}
						}
						if seen {
							mark()
						}
						w.wrap = func(next http.RoundTripper) http.RoundTripper { return &forced{w, next} }
						cl, end := w.withClient(ctrlruntime.Options{}, cache.Options{})
						defer end()
						w.server.Release()
						_, err := cl.cache.GetInformer(t.Context(), &corev1.Pod{})
						ok(t, err)
						synctest.Wait()
						w.server.Hold()
						if !seen {
							mark()
						}
						ok(t, cl.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("ns"), client.GracePeriodSeconds(0)))
						cl.behindBy(2 * time.Second)
						var got corev1.Pod
						err = cl.Get(t.Context(), keyed("ns", "p"), &got)
						// An object that was not marked may be read as soon as it is.
						between := err == nil && got.DeletionTimestamp != nil && (stays || !marked)
						if !between && (stays || !apierrors.IsNotFound(err)) {
							t.Errorf("a read shows it with %v, deleted at %v, %v", got.Finalizers, got.DeletionTimestamp, err)
						}
						if stays && marked && len(got.Finalizers) > 1 {
							t.Errorf("a read shows the pod as before, with %v", got.Finalizers)
						}
						testbubble.Pass(3 * time.Second)
					})
				})
			}
		}
	}
}
