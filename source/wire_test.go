package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// The wire format as apimachinery writes it, which is what servers use.

// protoMagic is the start of a protobuf object, wireBytes the wire type of a
// field with a length.
var protoMagic = []byte("k8s\x00")

const wireBytes = 2

var podGVR = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

type codecFor struct {
	name        string
	contentType string
	object      func(obj runtime.Object) []byte
	frame       func(eventType string, obj runtime.Object) []byte
}

func codecs() []codecFor {
	return []codecFor{
		{"protobuf", runtime.ContentTypeProtobuf, protoBytes, protoFrame},
		{"JSON", runtime.ContentTypeJSON, jsonBytes, jsonFrame},
	}
}

// withKind gives obj the kind that a server writes.
func withKind(obj runtime.Object) runtime.Object {
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return obj
	}
	obj = obj.DeepCopyObject()
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(err)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvks[0])
	return obj
}

func jsonBytes(obj runtime.Object) []byte {
	b, err := json.Marshal(withKind(obj))
	if err != nil {
		panic(err)
	}
	return b
}

func protoBytes(obj runtime.Object) []byte {
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(withKind(obj), &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func jsonFrame(eventType string, obj runtime.Object) []byte {
	b, err := json.Marshal(&metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: jsonBytes(obj)}})
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

func protoFrame(eventType string, obj runtime.Object) []byte {
	return protoFrameOf(eventType, protoBytes(obj))
}

func protoFrameOf(eventType string, raw []byte) []byte {
	ev := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: raw}}
	b, err := ev.Marshal()
	if err != nil {
		panic(err)
	}
	return lengthPrefixed(b)
}

func lengthPrefixed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// protoListOf is a list message around items that are encoded already, good
// ones or not.
func protoListOf(kind string, lm metav1.ListMeta, items ...[]byte) []byte {
	meta, err := lm.Marshal()
	if err != nil {
		panic(err)
	}
	field := func(to []byte, number byte, value []byte) []byte {
		to = append(to, number<<3|wireBytes)
		to = binary.AppendUvarint(to, uint64(len(value)))
		return append(to, value...)
	}
	list := field(nil, 1, meta)
	for _, it := range items {
		list = field(list, 2, it)
	}
	return enveloped("v1", kind, list)
}

func pod(namespace, name, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: version, UID: "uid-" + "of-" + "pod",
			Labels: map[string]string{"app": "a \"quoted\" \\ {[name]}"},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func podList(version string, names ...string) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for i, name := range names {
		list.Items = append(list.Items, *pod("ns", name, fmt.Sprint(100+i)))
	}
	return list
}

// differences is cmp.Diff, which takes many times as long to see that there are
// none.
func differences(want, got any, opts ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, opts...)
}

// randomPods are as strange as apimachinery's own round trip tests make them.
func randomPods(t testing.TB, n int) (*corev1.PodList, *rand.Rand) {
	seed := int64(testkit.Seed(t))
	r := rand.New(rand.NewSource(seed))
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, r, scheme.Codecs)
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := range n {
		var p corev1.Pod
		fill.Fill(&p)
		p.TypeMeta = metav1.TypeMeta{}
		p.Name = fmt.Sprintf("pod-%d", i)
		list.Items = append(list.Items, p)
	}
	return list, r
}

// serve starts a server and returns the configuration to reach it with.
func serve(t testing.TB, handler http.HandlerFunc) *rest.Config {
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL, QPS: -1}
}

// answer is a handler that sends body, whatever it is asked.
func answer(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write(body)
	}
}

// answerStatus is a handler that refuses as an API server does.
func answerStatus(status *metav1.Status) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		w.Write(jsonBytes(status))
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// listed is everything one List call yielded.
type listed[T any] struct {
	pages   []Page[T]
	items   []Item[T]
	version string
	bytes   int64
}

func list[T any](t testing.TB, src Source[T], req ListRequest[T]) (listed[T], error) {
	t.Helper()
	var got listed[T]
	err := src.List(t.Context(), req, got.page)
	got.check(t, err)
	return got, err
}

func (l *listed[T]) page(p Page[T]) error {
	l.pages = append(l.pages, p)
	l.items = append(l.items, p.Items...)
	l.version = p.ResourceVersion
	l.bytes += p.Bytes
	return nil
}

// check holds the pages against Source's contract.
func (l *listed[T]) check(t testing.TB, err error) {
	t.Helper()
	for i, p := range l.pages {
		last := i == len(l.pages)-1
		if err == nil && p.More == last {
			t.Errorf("page %d of %d has More %v", i, len(l.pages), p.More)
		}
		if p.More && p.Continue != "" {
			t.Errorf("page %d has more and a continue token", i)
		}
	}
	for _, it := range l.items {
		checkItem(t, it)
	}
}

func checkItem[T any](t testing.TB, it Item[T]) {
	t.Helper()
	ie, broken := it.Err.(*ItemError)
	if it.Err != nil && !broken {
		t.Errorf("an item's error is a %T: %v", it.Err, it.Err)
	}
	if broken == !isNil(it.Object) {
		t.Errorf("an item has both an object and an error, or neither: %+v", it)
	}
	if broken && (ie.Key != it.Key && it.Key != (store.Key{}) || ie.ResourceVersion != it.ResourceVersion) {
		t.Errorf("the error is about %+v and the item about %+v", ie, it)
	}
}

// watched collects the events of one Watch call, by batch.
type watched[T any] struct {
	batches [][]Event[T]
	events  []Event[T]
}

func (w *watched[T]) batch(events []Event[T]) error {
	w.batches = append(w.batches, append([]Event[T](nil), events...))
	w.events = append(w.events, events...)
	return nil
}

func watchAll[T any](t testing.TB, src Source[T], req WatchRequest[T]) (watched[T], error) {
	t.Helper()
	var got watched[T]
	err := src.Watch(t.Context(), req, got.batch)
	for _, b := range got.batches {
		if len(b) == 0 {
			t.Error("an empty batch")
		}
	}
	for _, e := range got.events {
		if e.Type.HasObject() {
			checkItem(t, e.Item)
		}
	}
	return got, err
}

func nsName(namespace, name string) store.Key { return store.Key{Namespace: namespace, Name: name} }

// watchOnce watches until n events have come, and then ends the watch.
func watchOnce[T any](ctx context.Context, src Source[T], req WatchRequest[T], n int) ([]Event[T], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var got []Event[T]
	err := src.Watch(ctx, req, func(events []Event[T]) error {
		if got = append(got, events...); len(got) >= n {
			return errEnough
		}
		return nil
	})
	return got, err
}

var errEnough = fmt.Errorf("enough")

func decoderOf[T any](gv schema.GroupVersion, opts Options) (*decoder[T], error) {
	return newDecoder[T](gv, &opts)
}

// enveloped is a message with a kind around it.
func enveloped(apiVersion, kind string, raw []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	return append(bytes.Clone(protoMagic), must(u.Marshal())...)
}
