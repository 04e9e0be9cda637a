package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// bookmarkPod is a bookmark's object as a server sends it.
func bookmarkPod(version string, end bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if end {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return p
}

func TestWatchEqualsTheTypedClient(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			pods, r := randomPods(t, 60)
			var body []byte
			types := []string{"ADDED", "MODIFIED", "DELETED"}
			for i := range pods.Items {
				body = append(body, c.frame(types[r.Intn(len(types))], &pods.Items[i])...)
			}
			cfg := serve(t, answer(c.contentType, body))
			got, err := watchAll(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), WatchRequest[*corev1.Pod]{})
			if err != nil {
				t.Fatal(err)
			}
			w := must(must(kubernetes.NewForConfig(cfg)).CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{}))
			defer w.Stop()
			var n int64
			i := 0
			for want := range w.ResultChan() {
				if i >= len(got.events) {
					t.Fatalf("only %d events", i)
				}
				e := got.events[i]
				if e.Type.String() != string(want.Type) {
					t.Errorf("event %d is %s, want %s", i, e.Type, want.Type)
				}
				if diff := differences(want.Object, any(e.Object)); diff != "" {
					t.Fatalf("event %d (-client-go +kinglet):\n%s", i, diff)
				}
				n += e.Bytes
				i++
			}
			if c.name == "JSON" {
				// The last event's newline belongs to the next.
				n++
			}
			if i != len(got.events) || n != int64(len(body)) {
				t.Errorf("%d events of %d bytes, want %d of %d", len(got.events), n, i, len(body))
			}
		})
	}
}

// odd is one frame and what has to come of it.
type odd struct {
	name  string
	frame []byte
	check func(e Event[*corev1.Pod]) error
}

func oddFrames(c codecFor) []odd {
	isItem := func(key store.Key) func(Event[*corev1.Pod]) error {
		return func(e Event[*corev1.Pod]) error {
			ie, ok := errtype.As[*ItemError](e.Err)
			if e.Type != Modified || !ok || ie.Key != key {
				return fmt.Errorf("got %s of %v: %v", e.Type, e.Key, e.Err)
			}
			return nil
		}
	}
	isError := func(e Event[*corev1.Pod]) error {
		if e.Type != Error || !apierrors.IsResourceExpired(e.Err) {
			return fmt.Errorf("got %s: %v", e.Type, e.Err)
		}
		return nil
	}
	isUnknown := func(e Event[*corev1.Pod]) error {
		if e.Type != Unknown || e.Err == nil || e.Object != nil {
			return fmt.Errorf("got %s: %v", e.Type, e.Err)
		}
		return nil
	}
	expired := &apierrors.NewResourceExpired("too old").ErrStatus
	odds := []odd{
		{"an error event", c.frame("ERROR", expired), isError},
		{"an error event with something else than a Status", c.frame("ERROR", pod("ns", "x", "5")), func(e Event[*corev1.Pod]) error {
			if e.Type != Error || e.Err == nil {
				return fmt.Errorf("got %s: %v", e.Type, e.Err)
			}
			return nil
		}},
		{"a Status where an object was due", c.frame("MODIFIED", expired), isError},
		{"a Status where a bookmark was due", c.frame("BOOKMARK", expired), isError},
		{"an unknown event type", c.frame("RENAMED", pod("ns", "x", "5")), func(e Event[*corev1.Pod]) error {
			if e.Key != nsName("ns", "x") {
				return fmt.Errorf("it is about %v", e.Key)
			}
			return isUnknown(e)
		}},
		{"an object of another type", c.frame("MODIFIED", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), isItem(nsName("", "x"))},
		{"an object without a name", c.frame("MODIFIED", pod("ns", "", "5")), func(e Event[*corev1.Pod]) error {
			ie, ok := errtype.As[*ItemError](e.Err)
			if !ok || ie.Stage != StageKey || ie.ResourceVersion != "5" || e.Key != (store.Key{}) {
				return fmt.Errorf("got %s: %v", e.Type, e.Err)
			}
			return nil
		}},
		{"a bookmark of another type", c.frame("BOOKMARK", &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5"}}), isUnknown},
		{"a bookmark without a version", c.frame("BOOKMARK", &corev1.Pod{}), func(e Event[*corev1.Pod]) error {
			if e.Type != Bookmark || e.ResourceVersion != "" || e.InitialEventsEnd || e.Err != nil {
				return fmt.Errorf("got %+v", e)
			}
			return nil
		}},
		{"a bookmark without a version that ends the initial events", c.frame("BOOKMARK", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}), func(e Event[*corev1.Pod]) error {
			if e.Type != Bookmark || e.ResourceVersion != "" || !e.InitialEventsEnd || e.Err != nil {
				return fmt.Errorf("got %+v", e)
			}
			return nil
		}},
	}
	if c.name == "JSON" {
		return append(odds,
			odd{"an object that does not decode", []byte(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","spec":5,"metadata":{"name":"x","namespace":"ns"}}}`), isItem(nsName("ns", "x"))},
			odd{"an object whose metadata does not decode", []byte(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"ns","labels":5}}}`), isItem(nsName("ns", "x"))},
			odd{"an object with broken text inside", []byte(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{a b}}}`), isItem(nsName("", "x"))},
			odd{"an object that does not say its kind", []byte(`{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}`), isItem(nsName("", "x"))},
			odd{"null for an object", []byte(`{"type":"MODIFIED","object":null}`), isUnknown},
			odd{"no object at all", []byte(`{"type":"MODIFIED"}`), isUnknown},
			odd{"an event without a type", []byte(`{"a":1}`), isUnknown},
			odd{"a bare Status", jsonBytes(expired), isError},
		)
	}
	// A good ObjectMeta, and a spec that claims more bytes than there are.
	meta := must((&metav1.ObjectMeta{Namespace: "ns", Name: "x"}).Marshal())
	raw := append([]byte{1<<3 | wireBytes, byte(len(meta))}, meta...)
	raw = append(raw, 2<<3|wireBytes, 100, 1)
	return append(odds,
		odd{"an object that does not decode", protoFrameOf("MODIFIED", enveloped("v1", "Pod", raw)), isItem(nsName("ns", "x"))},
		odd{"no protobuf where an object was due", protoFrameOf("MODIFIED", []byte("nonsense")), isUnknown},
		odd{"no object at all", protoFrameOf("MODIFIED", nil), isUnknown},
		odd{"a bare Status", lengthPrefixed(protoBytes(expired)), isError},
	)
}

func TestAnOddEventIsToldAndTheStreamGoesOn(t *testing.T) {
	for _, c := range codecs() {
		for _, o := range oddFrames(c) {
			t.Run(c.name+"/"+o.name, func(t *testing.T) {
				body := append(c.frame("ADDED", pod("ns", "before", "1")), o.frame...)
				body = append(body, c.frame("ADDED", pod("ns", "after", "2"))...)
				cfg := serve(t, answer(c.contentType, body))
				got, err := watchAll(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), WatchRequest[*corev1.Pod]{})
				if err != nil || len(got.events) != 3 {
					t.Fatalf("%d events: %v", len(got.events), err)
				}
				if got.events[0].Key != nsName("ns", "before") || got.events[2].Key != nsName("ns", "after") {
					t.Errorf("its neighbours are %v and %v", got.events[0].Item, got.events[2].Item)
				}
				if err := o.check(got.events[1]); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestABrokenStreamEndsTheWatchAfterWhatCameBefore(t *testing.T) {
	for _, c := range codecs() {
		good := c.frame("ADDED", pod("ns", "a", "1"))
		next := c.frame("ADDED", pod("ns", "b", "2"))
		big := pod("ns", "c", "3")
		big.Annotations = map[string]string{"a": string(bytes.Repeat([]byte{'x'}, 5000))}
		garbage := []byte("\x00\x00\x00\x05\xff\xff\xff\xff\xff")
		if c.name == "JSON" {
			garbage = []byte("]garbage")
		}
		for _, tc := range []struct {
			name string
			tail []byte
			is   func(error) bool
		}{
			{"a truncated frame", next[:len(next)-5], func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
			{"a garbage frame", garbage, func(err error) bool { _, ok := errtype.As[*MalformedError](err); return ok }},
			{"an oversized frame", c.frame("ADDED", big), func(err error) bool { _, ok := errtype.As[*TooLargeError](err); return ok }},
		} {
			t.Run(c.name+"/"+tc.name, func(t *testing.T) {
				cfg := serve(t, answer(c.contentType, append(bytes.Clone(good), tc.tail...)))
				src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{MaxObjectBytes: 4000}))
				got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{})
				if len(got.events) != 1 || got.events[0].Key.Name != "a" {
					t.Errorf("%d events before", len(got.events))
				}
				if !tc.is(err) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// client-go's decoder finds an event that has no end where the next begins.
func TestAnEventThatLostAByteIsToldOrEndsTheWatchAtTheNext(t *testing.T) {
	frame := func(name string) []byte {
		return append(bytes.TrimSpace(jsonFrame("ADDED", pod("ns", name, "1"))), '\n')
	}
	event := frame("lost")
	ended := 0
	for at := range len(event) - 1 {
		dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
		damaged := append(bytes.Clone(event[:at]), event[at+1:]...)
		var got watched[*corev1.Pod]
		err := dec.watch(bytes.NewReader(append(append(frame("before"), damaged...), frame("after")...)), nil, nil, got.batch)
		_, malformed := errtype.As[*MalformedError](err)
		switch {
		case malformed && (len(got.events) == 1 || len(got.events) == 2 && got.events[1].Err != nil):
			ended++
		case err != nil || len(got.events) != 3 || got.events[2].Key.Name != "after":
			t.Errorf("without %q at %d: %d events, and %v", event[at], at, len(got.events), err)
		case got.events[1].Err == nil && !json.Valid(damaged) && at > bytes.IndexByte(event, ','): // else the object is whole
			t.Errorf("without %q at %d: no error of %s", event[at], at, damaged)
		}
	}
	if ended < 20 || ended > len(event)/2 {
		t.Errorf("%d of %d end the watch", ended, len(event))
	}
}

func TestAnAnnouncedSizeIsCheckedBeforeItGetsMemory(t *testing.T) {
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
	// The length stands alone; whoever believes it waits, or allocates.
	frame := []byte{8, 0, 0, 0}
	err := dec.watch(bytes.NewReader(frame), nil, nil, func([]Event[*corev1.Pod]) error { return nil })
	if tle, ok := errtype.As[*TooLargeError](err); !ok || tle.Bytes != 128<<20 || tle.Limit != 64<<20 {
		t.Errorf("%v", err)
	}
}

func TestAWatchListEndsItsInitialEventsWithItsBookmark(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			body := append(c.frame("ADDED", pod("ns", "a", "1")), c.frame("BOOKMARK", bookmarkPod("7", true))...)
			body = append(body, c.frame("BOOKMARK", bookmarkPod("9", false))...)
			cfg := serve(t, answer(c.contentType, body))
			got, err := watchAll(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), WatchRequest[*corev1.Pod]{SendInitialEvents: true})
			if err != nil || len(got.events) != 3 {
				t.Fatalf("%d events: %v", len(got.events), err)
			}
			end, later := got.events[1], got.events[2]
			if end.Type != Bookmark || !end.InitialEventsEnd || end.ResourceVersion != "7" || end.Object != nil {
				t.Errorf("the end is %+v", end)
			}
			if later.Type != Bookmark || later.InitialEventsEnd || later.ResourceVersion != "9" {
				t.Errorf("the bookmark is %+v", later)
			}
		})
	}
}

func TestOneEventIsDeliveredAtOnceAndABurstInBatches(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			const burst = 1000
			var body []byte
			for i := range burst {
				body = append(body, c.frame("ADDED", pod("ns", fmt.Sprint("p", i), fmt.Sprint(i+1)))...)
			}
			seen := make(chan struct{})
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				w.Write(c.frame("ADDED", pod("ns", "alone", "1")))
				w.(http.Flusher).Flush()
				// Whoever waits for more than one event waits for ever.
				select {
				case <-seen:
				case <-r.Context().Done():
					return
				}
				w.Write(body)
			})
			src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
			batches, events := 0, 0
			err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func(batch []Event[*corev1.Pod]) error {
				if events == 0 {
					close(seen)
				}
				if len(batch) > batchEvents {
					t.Errorf("a batch of %d", len(batch))
				}
				batches++
				events += len(batch)
				return nil
			})
			if err != nil || events != burst+1 || batches > events/4 {
				t.Errorf("%d events in %d batches: %v", events, batches, err)
			}
		})
	}
}

func TestAWatchEndsWithItsContextAndWithYieldsError(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(jsonFrame("ADDED", pod("ns", "a", "1")))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	err := src.Watch(ctx, WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error { cancel(); return nil })
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, 1); err != errEnough {
		t.Errorf("stopped: %v", err)
	}
}

func TestAnObjectLargerThanAnyBufferIsReadWhole(t *testing.T) {
	for _, c := range codecs() {
		for _, size := range []int{encoding.IdleRead, encoding.BusyRead - 100, encoding.BusyRead, 3 * encoding.BusyRead, 12 * encoding.BusyRead} {
			var body []byte
			var pods corev1.PodList
			for i := range 3 {
				p := pod("ns", fmt.Sprint("p", i), "1")
				p.Annotations = map[string]string{"a": string(bytes.Repeat([]byte{'a' + byte(i)}, size))}
				body = append(body, c.frame("ADDED", p)...)
				pods.Items = append(pods.Items, *p)
			}
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			var got watched[*corev1.Pod]
			if err := dec.watch(iotest.HalfReader(bytes.NewReader(body)), nil, nil, got.batch); err != nil || len(got.events) != 3 {
				t.Fatalf("%s, %d: %d events: %v", c.name, size, len(got.events), err)
			}
			var l listed[*corev1.Pod]
			if err := dec.list(false, iotest.HalfReader(bytes.NewReader(c.object(&pods))), nil, nil, l.page); err != nil || len(l.items) != 3 {
				t.Fatalf("%s, %d: %d items: %v", c.name, size, len(l.items), err)
			}
			for i := range 3 {
				if !reflect.DeepEqual(got.events[i].Object, &pods.Items[i]) || !reflect.DeepEqual(l.items[i].Object, &pods.Items[i]) {
					t.Errorf("%s, %d: object %d is another", c.name, size, i)
				}
			}
		}
	}
}
