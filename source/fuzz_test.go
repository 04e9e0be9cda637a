package source

import (
	"bytes"
	"encoding/binary"
	gojson "encoding/json"
	"fmt"
	goruntime "runtime"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/store"
)

const fuzzLimit = 1 << 16

// onFourCores has decoders use more than one, whatever there are.
func onFourCores(f *testing.F) {
	was := goruntime.GOMAXPROCS(4)
	f.Cleanup(func() { goruntime.GOMAXPROCS(was) })
}

func fuzzDecoder[T any]() *decoder[T] {
	return must(decoderOf[T](podGVR.GroupVersion(), Options{MaxObjectBytes: fuzzLimit}))
}

// FuzzFrames holds that no stream of bytes panics a watch, that every event
// keeps the contract, that how the stream is cut changes nothing, and neither
// does what is held.
func FuzzFrames(f *testing.F) {
	onFourCores(f)
	for _, c := range codecs() {
		good := c.frame("ADDED", pod("ns", "a", "1"))
		f.Add(good)
		f.Add(append(bytes.Clone(good), c.frame("BOOKMARK", bookmarkPod("7", true))...))
		f.Add(c.frame("ERROR", &apierrors.NewResourceExpired("x").ErrStatus))
		f.Add(c.frame("X", &corev1.Node{}))
		f.Add(good[:len(good)-3])
		// A burst of versions, and a deletion.
		var burst []byte
		for i, p := range replicasOf(9).Items {
			p.Name = fmt.Sprint("p", i%3)
			burst = append(burst, c.frame("MODIFIED", &p)...)
		}
		f.Add(append(burst, c.frame("DELETED", pod("ns", "p1", "99"))...))
		for _, o := range oddFrames(c) {
			f.Add(append(bytes.Clone(o.frame), good...))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		fuzzFrames[*corev1.Pod](t, stream)
		fuzzFrames[*unstructured.Unstructured](t, stream)
		fuzzFrames[*metav1.PartialObjectMetadata](t, stream)
	})
}

func fuzzFrames[T any](t *testing.T, stream []byte) {
	dec := fuzzDecoder[T]()
	var whole, cut watched[T]
	err := dec.watch(bytes.NewReader(stream), nil, nil, whole.batch)
	cutErr := dec.watch(iotest.OneByteReader(bytes.NewReader(stream)), nil, nil, cut.batch)
	if (err == nil) != (cutErr == nil) {
		t.Errorf("whole: %v; byte by byte: %v", err, cutErr)
	}
	var n int64
	for _, e := range whole.events {
		n += e.Bytes
		switch {
		case e.Type.HasObject():
			checkItem(t, e.Item)
		case e.Type == Bookmark:
			if e.Err != nil {
				t.Errorf("%+v", e)
			}
		case e.Err == nil:
			t.Errorf("%+v", e)
		}
	}
	if n > int64(len(stream)) {
		t.Errorf("%d bytes counted of %d", n, len(stream))
	}
	sameEvents(t, whole.events, cut.events)
	heldWatches[T](t, stream)
}

func sameEvents[T any](t *testing.T, a, b []Event[T]) {
	if len(a) != len(b) {
		t.Fatalf("%d events, or %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Type != b[i].Type || a[i].Bytes != b[i].Bytes {
			t.Errorf("event %d: %+v, or %+v", i, a[i], b[i])
		}
		sameItem(t, a[i].Item, b[i].Item)
	}
}

func sameItem[T any](t *testing.T, a, b Item[T]) {
	if a.Key != b.Key || a.UID != b.UID || a.ResourceVersion != b.ResourceVersion || (a.Err == nil) != (b.Err == nil) {
		t.Errorf("%+v, or %+v", a, b)
	}
	if diff := differences(a.Object, b.Object, cmp.AllowUnexported(store.Key{})); diff != "" {
		t.Error(diff)
	}
}

// FuzzList is FuzzFrames for lists. Where apimachinery takes the bytes for a
// list, kinglet has to find the same items in it.
func FuzzList(f *testing.F) {
	onFourCores(f)
	for _, c := range codecs() {
		f.Add(c.object(podList("7", "a", "b")))
		f.Add(c.object(&corev1.PodList{}))
		f.Add(c.object(replicasOf(9)))
		f.Add(c.object(pod("ns", "a", "1")))
		f.Add(c.object(&apierrors.NewResourceExpired("x").ErrStatus))
	}
	f.Add([]byte(customList))
	f.Add([]byte(`{"items":[{"metadata":{"name":"a\u0062\\"}},null,3,{"metadata":{"labels":5}}] , "kind":"PodList"}`))
	f.Add([]byte(`{"metadata":{"resourceVersion":"1"},"items":[{"a":"}"},{"b":"\"{"}]}`))
	f.Add(protoListOf("PodList", metav1.ListMeta{}, []byte{0xff}, nil, protoItem(pod("ns", "a", "1"))))
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzList[*unstructured.Unstructured](t, body)
		fuzzList[*metav1.PartialObjectMetadata](t, body)
		got, err := fuzzList[*corev1.Pod](t, body)
		want, wantErr := officialList(body)
		if wantErr != nil {
			return
		}
		if err != nil {
			t.Fatalf("apimachinery finds %d items, kinglet says %v", len(want.Items), err)
		}
		if len(got.items) != len(want.Items) || got.version != want.ResourceVersion {
			t.Fatalf("%d items at %q, want %d at %q", len(got.items), got.version, len(want.Items), want.ResourceVersion)
		}
		for i, it := range got.items {
			if it.Err == nil {
				if diff := differences(&want.Items[i], it.Object); diff != "" {
					t.Errorf("item %d:\n%s", i, diff)
				}
			}
		}
	})
}

func fuzzList[T any](t *testing.T, body []byte) (listed[T], error) {
	dec := fuzzDecoder[T]()
	var whole, cut listed[T]
	err := dec.list(false, bytes.NewReader(body), nil, nil, whole.page)
	cutErr := dec.list(false, iotest.OneByteReader(bytes.NewReader(body)), nil, nil, cut.page)
	if (err == nil) != (cutErr == nil) {
		t.Errorf("whole: %v; byte by byte: %v", err, cutErr)
	}
	whole.check(t, err)
	if err == nil {
		if whole.bytes != int64(len(body)) && whole.bytes != int64(len(bytes.TrimRight(body, " \t\r\n"))) {
			t.Errorf("%d bytes counted of %d", whole.bytes, len(body))
		}
		if len(whole.items) != len(cut.items) {
			t.Fatalf("%d items, or %d", len(whole.items), len(cut.items))
		}
		for i := range whole.items {
			sameItem(t, whole.items[i], cut.items[i])
		}
	}
	heldLists[T](t, body)
	return whole, err
}

// officialList is what apimachinery makes of body, as far as it can be held
// against: kinglet refuses two members, or fields, of the same name, and
// objects over the limit.
func officialList(body []byte) (*corev1.PodList, error) {
	if len(body) > fuzzLimit {
		return nil, errEnough
	}
	var l corev1.PodList
	if !bytes.HasPrefix(body, protoMagic) {
		var members struct {
			Items []gojson.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(body, &members); err != nil {
			return nil, err
		}
		if bytes.Count(body, []byte(`"items"`)) != 1 {
			return nil, errEnough
		}
		if err := json.Unmarshal(body, &l); err != nil {
			return nil, err
		}
		if l.Kind != "PodList" || l.APIVersion != "v1" {
			return nil, errEnough
		}
		return &l, nil
	}
	var u runtime.Unknown
	if err := u.Unmarshal(body[len(protoMagic):]); err != nil {
		return nil, err
	}
	if u.Kind != "PodList" || u.APIVersion != "v1" || lists(body[len(protoMagic):]) != 1 {
		return nil, errEnough
	}
	return &l, l.Unmarshal(u.Raw)
}

// lists counts the messages in a runtime.Unknown that may be a list, or a part of one. All
// of its fields are of that wire type.
func lists(raw []byte) (n int) {
	for len(raw) > 0 {
		tag, k := binary.Uvarint(raw)
		size, l := binary.Uvarint(raw[max(k, 0):])
		if k <= 0 || l <= 0 || tag&7 != 2 || size > uint64(len(raw)-k-l) {
			return -1
		}
		if tag>>3 == 2 {
			n++
		}
		raw = raw[k+l+int(size):]
	}
	return n
}
