package replay

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server, and what it should say.
type world struct {
	*testing.T
	pods    *pods.Collection
	control Control
}

func newWorld(t *testing.T, opts pods.Options) *world {
	t.Helper()
	c, err := pods.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &world{T: t, pods: c, control: Control{Endpoint: s.Endpoint(), Client: client}}
}

// client returns client-go's of all namespaces, of an encoding and a transport.
func (w *world) client(e Encoding, secure bool) typedv1.PodInterface {
	w.Helper()
	return w.clientset(e, secure).Pods("")
}

func (w *world) clientset(e Encoding, secure bool) *typedv1.CoreV1Client {
	w.Helper()
	cfg := &rest.Config{Host: w.control.Endpoint.Plain + "/" + string(e), QPS: -1}
	if secure {
		cfg.Host, cfg.CAData = w.control.Endpoint.Secure+"/"+string(e), w.control.Endpoint.CA
	}
	cfg.ContentType = e.MediaType()
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.CloseIdleConnections)
	client, err := typedv1.NewForConfigAndClient(cfg, c)
	if err != nil {
		w.Fatal(err)
	}
	return client
}

// want is pod i after n events, having been through a codec: what a client
// makes of it.
func (w *world) want(e Encoding, n, i int) *corev1.Pod {
	w.Helper()
	p := w.pods.Pod(i, w.pods.RoundAfter(n, i))
	b, err := e.pod(p)
	if err != nil {
		w.Fatal(err)
	}
	var out corev1.Pod
	if e == Protobuf {
		err = out.Unmarshal(b)
	} else {
		err = unmarshalStrictly(b, &out)
	}
	if err != nil {
		w.Fatal(err)
	}
	out.TypeMeta = metav1.TypeMeta{}
	return &out
}

func (w *world) same(got, want *corev1.Pod) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("got\n%+v\nwant\n%+v", got, want)
	}
}

func do[T any](w *world) func(T, error) T {
	return func(v T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return v
	}
}

// each runs check for every encoding over both transports.
func each(t *testing.T, opts pods.Options, check func(*world, Encoding, typedv1.PodInterface)) {
	for _, e := range []Encoding{Protobuf, JSON} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, secure %t", e, secure), func(t *testing.T) {
				w := newWorld(t, opts)
				check(w, e, w.client(e, secure))
			})
		}
	}
}

// TestListsDecodeToTheGeneratorsPods lists whole and in pages, before and
// after events, with client-go's codecs.
func TestListsDecodeToTheGeneratorsPods(t *testing.T) {
	each(t, pods.Options{Pods: 60}, func(w *world, e Encoding, client typedv1.PodInterface) {
		ctx := w.Context()
		for _, n := range []int{0, 60, 61, 130} {
			if head := do[Burst](w)(w.control.Burst(ctx, e, 0, false)).After; n > 0 {
				behind, err := w.pods.EventsUntil(head)
				if err != nil {
					w.Fatal(err)
				}
				do[Burst](w)(w.control.Burst(ctx, e, n-behind, false))
			}
			all := do[*corev1.PodList](w)(client.List(ctx, metav1.ListOptions{ResourceVersion: "0", Limit: 7}))
			if len(all.Items) != 60 || all.Continue != "" || all.ResourceVersion != w.pods.VersionAfter(n) {
				w.Fatalf("%d items, continue %q, version %s", len(all.Items), all.Continue, all.ResourceVersion)
			}
			for i := range all.Items {
				w.same(&all.Items[i], w.want(e, n, i))
			}
			var paged []corev1.Pod
			opts := metav1.ListOptions{Limit: 7}
			for {
				page := do[*corev1.PodList](w)(client.List(ctx, opts))
				paged = append(paged, page.Items...)
				left := int64(60 - len(paged))
				if page.ResourceVersion != all.ResourceVersion || left > 0 && *page.RemainingItemCount != left {
					w.Fatalf("page %+v with %d left", page.ListMeta, left)
				}
				if opts.Continue = page.Continue; opts.Continue == "" {
					break
				}
			}
			if !reflect.DeepEqual(paged, all.Items) {
				w.Fatal("pages are not the list")
			}
		}
	})
}

// take returns the next event, which must be of a type.
func (w *world) take(from watch.Interface, of watch.EventType) *corev1.Pod {
	w.Helper()
	select {
	case ev := <-from.ResultChan():
		p, ok := ev.Object.(*corev1.Pod)
		if ev.Type != of || !ok {
			w.Fatalf("%s of %T, not %s: %+v", ev.Type, ev.Object, of, ev.Object)
		}
		return p
	case <-w.Context().Done():
		w.Fatal("no event")
		return nil
	}
}

// TestAWatchSendsTheStateItsBookmarkAndEveryEvent watches from nothing, in the
// middle of a round, and from the version of an event.
func TestAWatchSendsTheStateItsBookmarkAndEveryEvent(t *testing.T) {
	each(t, pods.Options{Pods: 40}, func(w *world, e Encoding, client typedv1.PodInterface) {
		ctx := w.Context()
		do[Prepared](w)(w.control.Prepare(ctx, e, 1))
		do[Burst](w)(w.control.Burst(ctx, e, 55, false))
		yes := true
		first := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true}))
		defer first.Stop()
		for i := range 40 {
			w.same(w.take(first, watch.Added), w.want(e, 55, i))
		}
		if b := w.take(first, watch.Bookmark); b.Annotations[metav1.InitialEventsAnnotationKey] != "true" || b.ResourceVersion != w.pods.VersionAfter(55) {
			w.Fatalf("the bookmark says %+v", b.ObjectMeta)
		}
		do[Burst](w)(w.control.Burst(ctx, e, 50, false))
		second := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{ResourceVersion: w.pods.VersionAfter(80)}))
		defer second.Stop()
		for n := 55; n < 105; n++ {
			i, _ := w.pods.Event(n)
			want := w.want(e, n+1, i)
			w.same(w.take(first, watch.Modified), want)
			if n >= 80 {
				w.same(w.take(second, watch.Modified), want)
			}
		}
		if _, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"}); err == nil {
			w.Fatal("a version before the first is watched from")
		}
	})
}

// TestAfterAForcedRelistNothingButAListHelps has a watch expire, tries to go
// on, lists, and finds one more event.
func TestAfterAForcedRelistNothingButAListHelps(t *testing.T) {
	for _, changed := range []int{0, 30} {
		each(t, pods.Options{Pods: 30}, func(w *world, e Encoding, client typedv1.PodInterface) {
			ctx := w.Context()
			before := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{ResourceVersion: w.pods.VersionAfter(0)}))
			defer before.Stop()
			b := do[Burst](w)(w.control.Relist(ctx, changed))
			if b.After != w.pods.VersionAfter(changed) {
				w.Fatalf("the list is to be of %s", b.After)
			}
			expired := func(from watch.Interface) {
				w.Helper()
				ev := <-from.ResultChan()
				if err := apierrors.FromObject(ev.Object); ev.Type != watch.Error || !apierrors.IsResourceExpired(err) {
					w.Fatalf("%s %v", ev.Type, err)
				}
			}
			expired(before)
			again := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{ResourceVersion: b.After}))
			defer again.Stop()
			expired(again)
			list := do[*corev1.PodList](w)(client.List(ctx, metav1.ListOptions{}))
			w.same(&list.Items[3], w.want(e, changed, 3))
			after := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}))
			defer after.Stop()
			i, _ := w.pods.Event(changed)
			w.same(w.take(after, watch.Modified), w.want(e, changed+1, i))
		})
	}
}

// TestResetGoesBackToTheBeginning resets in the middle of a watch.
func TestResetGoesBackToTheBeginning(t *testing.T) {
	w := newWorld(t, pods.Options{Pods: 10})
	ctx := w.Context()
	client := w.client(Protobuf, false)
	do[Burst](w)(w.control.Burst(ctx, Protobuf, 15, false))
	open := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{ResourceVersion: w.pods.VersionAfter(15)}))
	defer open.Stop()
	if err := w.control.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if ev := <-open.ResultChan(); ev.Type != watch.Error {
		t.Fatalf("%s came to an open watch", ev.Type)
	}
	list := do[*corev1.PodList](w)(client.List(ctx, metav1.ListOptions{}))
	w.same(&list.Items[0], w.want(Protobuf, 0, 0))
}

// TestBytesAndRequestsAreCountedAndTheSecureSideSpeaksHTTP2 reads raw bodies.
func TestBytesAndRequestsAreCountedAndTheSecureSideSpeaksHTTP2(t *testing.T) {
	for _, e := range Encodings {
		w := newWorld(t, pods.Options{Pods: 20})
		ctx := w.Context()
		p := do[Prepared](w)(w.control.Prepare(ctx, e, 0))
		cfg := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: w.control.Endpoint.CA}}
		client := do[*http.Client](w)(rest.HTTPClientFor(cfg))
		w.Cleanup(client.CloseIdleConnections)
		req := do[*http.Request](w)(http.NewRequestWithContext(ctx, http.MethodGet,
			w.control.Endpoint.Secure+"/"+string(e)+"/api/v1/pods?watch=true&sendInitialEvents=true", nil))
		req.Header.Set("Accept", e.MediaType())
		resp := do[*http.Response](w)(client.Do(req))
		defer resp.Body.Close()
		if resp.ProtoMajor != 2 || resp.Header.Get("Content-Type") != e.contentType(true) {
			t.Fatalf("%s, %s", resp.Proto, resp.Header)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, p.Initial); err != nil {
			t.Fatal(err)
		}
		b := do[Burst](w)(w.control.Burst(ctx, e, 30, true))
		if _, err := io.CopyN(io.Discard, resp.Body, b.Bytes); err != nil {
			t.Fatal(err)
		}
		// The sender counts after the reader may have read.
		if err := w.control.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		rest := do[[]byte](w)(io.ReadAll(resp.Body))
		n := do[Counts](w)(w.control.Counts(ctx))
		if n.Bytes != p.Initial+b.Bytes+int64(len(rest)) || n.Events != 31 || n.Initial != 1 || n.Lists+n.Watches != 0 {
			t.Errorf("%s: counted %+v, sent %d and %d and %d", e, n, p.Initial, b.Bytes, len(rest))
		}
	}
}

// TestControlRefusesWhatItDoesNotKnow sends nonsense.
func TestControlRefusesWhatItDoesNotKnow(t *testing.T) {
	w := newWorld(t, pods.Options{Pods: 1})
	if _, err := w.control.Prepare(t.Context(), "cbor", 0); err == nil {
		t.Error("prepares CBOR")
	}
	if err := w.control.post(t.Context(), "relist?events=many", nil); err == nil {
		t.Error("relists many")
	}
	if err := w.control.post(t.Context(), "nothing", nil); err == nil {
		t.Error("does nothing")
	}
}

// TestANamespaceIsListedAndWatchedApart lists in pages, and watches from nothing
// through a round of events.
func TestANamespaceIsListedAndWatchedApart(t *testing.T) {
	w := newWorld(t, pods.Options{Pods: 60, Templates: 12, Namespaces: 4})
	ctx := w.Context()
	namespace := w.pods.Namespaces()[2]
	first, end := w.pods.In(namespace)
	client := w.clientset(Protobuf, false).Pods(namespace)
	opts := metav1.ListOptions{Limit: 7}
	i := first
	for {
		list := do[*corev1.PodList](w)(client.List(ctx, opts))
		for n := range list.Items {
			w.same(&list.Items[n], w.want(Protobuf, 0, i))
			i++
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	if i != end {
		t.Errorf("the list ends before pod %d, not %d", i, end)
	}
	stream := do[watch.Interface](w)(client.Watch(ctx, metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}))
	defer stream.Stop()
	for i := first; i < end; i++ {
		w.same((<-stream.ResultChan()).Object.(*corev1.Pod), w.want(Protobuf, 0, i))
	}
	if ev := <-stream.ResultChan(); ev.Type != watch.Bookmark {
		t.Fatalf("a %s after the state", ev.Type)
	}
	if _, err := w.control.Burst(ctx, Protobuf, w.pods.Len(), false); err != nil {
		t.Fatal(err)
	}
	for n := range w.pods.Len() {
		if i, _ := w.pods.Event(n); i >= first && i < end {
			w.same((<-stream.ResultChan()).Object.(*corev1.Pod), w.want(Protobuf, n+1, i))
		}
	}
}

func TestMetadataIsSentToThoseWhoAskForIt(t *testing.T) {
	w := newWorld(t, pods.Options{Pods: 20})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := metadata.NewForConfigAndClient(
		metadata.ConfigFor(&rest.Config{Host: w.control.Endpoint.Plain + "/" + string(Protobuf)}), &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(w.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != w.pods.Len() {
		t.Fatalf("%+v, %v", list, err)
	}
	for i := range list.Items {
		if want := w.want(Protobuf, 0, i).ObjectMeta; !reflect.DeepEqual(list.Items[i].ObjectMeta, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", list.Items[i].ObjectMeta, want)
		}
	}
}
