package source

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// CBOR by hand, for what no encoder writes.

func cborHead(major byte, n int) []byte {
	if n < 24 {
		return []byte{major<<5 | byte(n)}
	}
	return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
}

func cborText(s string) []byte { return append(cborHead(3, len(s)), s...) }

// cborMap is a map of strings and of what is encoded already.
func cborMap(kv ...any) []byte {
	b := cborHead(5, len(kv)/2)
	for _, x := range kv {
		switch x := x.(type) {
		case string:
			b = append(b, cborText(x)...)
		case []byte:
			b = append(b, x...)
		}
	}
	return b
}

func cborList(kind string, items ...[]byte) []byte {
	return cborMap("apiVersion", "v1", "kind", kind, "items", append(cborHead(4, len(items)), bytes.Join(items, nil)...))
}

func decodeBoth[T any](list, stream []byte) (l listed[T], w watched[T], listErr, watchErr error) {
	dec := must(NewDecoder[T](podGVR.GroupVersion(), Options{}))
	listErr = dec.DecodeList(bytes.NewReader(list), nil, l.page)
	watchErr = dec.DecodeWatch(bytes.NewReader(stream), nil, w.batch)
	return l, w, listErr, watchErr
}

func TestNoErrorQuotesASecretInCBOR(t *testing.T) {
	for _, version := range []string{"v1/", "foo/", ""} {
		secret := cborMap("apiVersion", version, "kind", "Secret", "metadata", cborMap("name", "a"), "stringData", cborMap("k", "hunter2"))
		for _, event := range []string{"ADDED", "BOOKMARK", "ERROR"} {
			l, w, err, err2 := decodeBoth[*corev1.Secret](cborList("SecretList", secret), cborMap("type", event, "object", secret))
			if len(w.events) != 1 || len(l.items) != 1 {
				t.Fatalf("%d events, %d items: %v, %v", len(w.events), len(l.items), err, err2)
			}
			if said := fmt.Sprint(err, err2, l.items[0].Err, w.events[0].Err); strings.Contains(said, "hunter2") {
				t.Errorf("%q, %s: %s", version, event, said)
			}
			if w.events[0].Err == nil {
				t.Errorf("%q, %s: no error", version, event)
			}
		}
	}
}

// Each would keep apimachinery's decoder busy as good as for ever.
func TestAQuantityThatCannotBeComputedIsRefusedHoweverItIsWritten(t *testing.T) {
	quota := func(v []byte) []byte {
		return cborMap("type", "ADDED", "object", cborMap("apiVersion", "v1", "kind", "ResourceQuota", "metadata", cborMap("name", "a"), "spec", cborMap("hard", cborMap("cpu", v))))
	}
	url := must(base64.URLEncoding.DecodeString("1e-999999999"))
	for name, frame := range map[string][]byte{
		"in pieces":          quota(append(append(append([]byte{0x7f}, cborText("1e-2000")...), cborText("000000")...), 0xff)),
		"as base64":          quota(append([]byte{0xd5}, append(cborHead(2, len(url)), url...)...)),
		"with a space":       quota(cborText("1e-2000000000 ")),
		"with another space": quota(cborText("1e-2000000000\u00a0")),
		"in JSON":            []byte(`{"type":"ADDED","object":{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"a"},"spec":{"hard":{"cpu":"1e-2000000000 "}}}}`),
	} {
		var w watched[*corev1.ResourceQuota]
		err := must(NewDecoder[*corev1.ResourceQuota](podGVR.GroupVersion(), Options{})).DecodeWatch(bytes.NewReader(frame), nil, w.batch)
		if err != nil || len(w.events) != 1 || w.events[0].Err == nil {
			t.Errorf("%s: %+v, %v", name, w.events, err)
		} else if refused := (*scan.ExponentError)(nil); !errors.As(w.events[0].Err, &refused) {
			t.Logf("%s: %v", name, w.events[0].Err)
		}
	}
}

// An annotation that looks like such a quantity does not change how the object is
// decoded.
func TestAnObjectWithATextLikeAQuantityIsDecodedAsAnyOther(t *testing.T) {
	decode := func(annotation string, spec []byte) string {
		pod := cborMap("apiVersion", "v1", "kind", "Pod", "metadata", cborMap("name", "a", "annotations", cborMap("commit", annotation)), "spec", spec)
		var w watched[*corev1.Pod]
		if err := must(NewDecoder[*corev1.Pod](podGVR.GroupVersion(), Options{})).DecodeWatch(bytes.NewReader(cborMap("type", "ADDED", "object", pod)), nil, w.batch); err != nil {
			t.Fatal(err)
		}
		if e := w.events[0]; e.Err != nil {
			return "an error"
		} else {
			return fmt.Sprintf("%q, %v", e.Object.Spec.NodeName, e.Object.Spec.Priority != nil)
		}
	}
	for _, spec := range [][]byte{
		cborMap("nodeName", []byte{0x43, 'a', 0xff, 'b'}),
		cborMap("priority", []byte{0xfb, 0x40, 0x14, 0, 0, 0, 0, 0, 0}),
		cborMap("nodeName", "n"),
	} {
		if plain, like := decode("abc", spec), decode("1e2000000000", spec); plain != like {
			t.Errorf("%x: %s, and with the annotation %s", spec, plain, like)
		}
	}
}

func TestADeleteWhoseAnswerCannotBeToldIsNotDone(t *testing.T) {
	for name, body := range map[string][]byte{
		"a key that is no name": cborMap([]byte{1}, "x", "kind", "Status", "apiVersion", "v1", "status", "Failure"),
		"a kind with a tag":     cborMap("apiVersion", "v1", "kind", append([]byte{0xc9}, cborText("Status")...), "status", "Failure"),
		"an empty map":          cborMap(),
		"an empty object":       []byte(`{}`),
		"null":                  []byte(`null`),
	} {
		if _, _, gone := DeleteAnswer(body); gone {
			t.Errorf("%s: gone", name)
		}
	}
}

func TestAListThatClaimsNoLengthEndsOrIsMalformed(t *testing.T) {
	for name, body := range map[string][]byte{
		"a map as long as can be":    {0xbb, 255, 255, 255, 255, 255, 255, 255, 255, 0x65, 'i', 't', 'e', 'm', 's', 0x80, 0xff},
		"an array as long as can be": {0xa1, 0x65, 'i', 't', 'e', 'm', 's', 0x9b, 255, 255, 255, 255, 255, 255, 255, 255, 0xff},
		"items that stand twice":     cborMap("items", []byte{0x80}, "items", []byte{0x80}),
	} {
		var l listed[*corev1.Pod]
		if err := must(NewDecoder[*corev1.Pod](podGVR.GroupVersion(), Options{})).DecodeList(bytes.NewReader(body), nil, l.page); err == nil {
			t.Errorf("%s: a whole list", name)
		}
	}
}

func TestATypeThatStandsTwiceDeletesNothing(t *testing.T) {
	pod := cborMap("apiVersion", "v1", "kind", "Pod", "metadata", cborMap("name", "a"))
	_, w, _, err := decodeBoth[*corev1.Pod](cborList("PodList"), cborMap("type", "ADDED", "type", "DELETED", "object", pod))
	if err == nil || len(w.events) != 0 {
		t.Errorf("%+v, %v", w.events, err)
	}
}

func TestTagsThatMeanNothingAreSkipped(t *testing.T) {
	tagged := func(b []byte) []byte { return append([]byte{0xc9}, b...) }
	pod := tagged(cborMap("apiVersion", tagged(cborText("v1")), "kind", "Pod", "metadata", cborMap("name", "a", "namespace", "ns")))
	l, w, err, err2 := decodeBoth[*corev1.Pod](cborList("PodList", pod), cborMap("type", tagged(cborText("ADDED")), "object", pod))
	if err != nil || err2 != nil || len(l.items) != 1 || l.items[0].Key != nsName("ns", "a") || len(w.events) != 1 || w.events[0].Err != nil {
		t.Errorf("%+v %+v %v %v", l.items, w.events, err, err2)
	}
}

// A list buffers its other members in case it is a Status. The bound on that
// buffer counts their names as well.
func TestTheNamesOfAListsMembersAreBounded(t *testing.T) {
	name := cborText(strings.Repeat("n", 4000))
	body := []byte{0xbf}
	for range 5000 {
		body = append(append(body, name...), 0x01)
	}
	var live uint64
	end := readerFunc(func([]byte) (int, error) {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		live = m.HeapAlloc
		return 0, errors.New("enough")
	})
	var before goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	dec := must(NewDecoder[*corev1.Pod](podGVR.GroupVersion(), Options{}))
	if err := dec.DecodeList(io.MultiReader(bytes.NewReader(body), end), nil, new(listed[*corev1.Pod]).page); err == nil {
		t.Fatal("it ended")
	}
	if live > before.HeapAlloc+4<<20 {
		t.Errorf("%d bytes live of a list without items", live-before.HeapAlloc)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
