package source

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// protoItem is an encoded pod without a kind around it.
func protoItem(p *corev1.Pod) []byte { return must(p.Marshal()) }

func TestOneBadItemDoesNotLoseTheRestOfItsPage(t *testing.T) {
	good := func(name string) []byte { return protoItem(pod("ns", name, "1")) }
	meta := must((&metav1.ObjectMeta{Namespace: "ns", Name: "bad", UID: "u", ResourceVersion: "5"}).Marshal())
	badSpec := append([]byte{1<<3 | wireBytes, byte(len(meta))}, meta...)
	badSpec = append(badSpec, 2<<3|wireBytes, 100, 1)
	badMeta := append([]byte{1<<3 | wireBytes, byte(len(meta) + 2)}, meta...)
	badMeta = append(badMeta, 11<<3|wireBytes, 100)
	known := encoding.Identity{Key: nsName("ns", "bad"), UID: "u", Version: "5"}
	jsonPage := func(item string) []byte {
		return fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s,%s,%s]}`,
			`{"metadata":{"namespace":"ns","name":"a"}}`, item, `{"metadata":{"namespace":"ns","name":"b"}}`)
	}
	protoPage := func(item []byte) []byte {
		return protoListOf("PodList", metav1.ListMeta{ResourceVersion: "9"}, good("a"), item, good("b"))
	}
	for _, tc := range []struct {
		name  string
		body  []byte
		stage Stage
		id    encoding.Identity
	}{
		{"JSON, a field of another type", jsonPage(`{"metadata":{"namespace":"ns","name":"bad","uid":"u","resourceVersion":"5"},"spec":[]}`), StageDecode, known},
		{"JSON, broken text", jsonPage(`{"metadata":{"namespace":"ns","name":"bad","uid":"u","resourceVersion":"5"},"spec":{x:1}}`), StageDecode, known},
		{"JSON, broken text before the name", jsonPage(`{"a":{x},"metadata":{"name":"bad"}}`), StageDecode, encoding.Identity{Key: nsName("", "bad")}},
		{"JSON, metadata of another type", jsonPage(`{"metadata":7}`), StageDecode, encoding.Identity{}},
		{"JSON, metadata half right", jsonPage(`{"metadata":{"labels":5,"uid":"u","namespace":"ns","name":"bad","resourceVersion":"5"}}`), StageDecode, known},
		{"JSON, null", jsonPage(`null`), StageDecode, encoding.Identity{}},
		{"JSON, a number", jsonPage(`12`), StageDecode, encoding.Identity{}},
		{"JSON, another kind", jsonPage(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"bad"}}`), StageDecode, encoding.Identity{Key: nsName("", "bad")}},
		{"JSON, without a name", jsonPage(`{"metadata":{"namespace":"ns","uid":"u"}}`), StageKey, encoding.Identity{UID: "u"}},
		{"protobuf, a field cut short", protoPage(badSpec), StageDecode, known},
		{"protobuf, metadata cut short", protoPage(badMeta), StageDecode, known},
		{"protobuf, garbage", protoPage([]byte{0xff, 0xff, 0xff}), StageDecode, encoding.Identity{}},
		{"protobuf, empty", protoPage(nil), StageKey, encoding.Identity{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			var got listed[*corev1.Pod]
			if err := dec.list(false, bytes.NewReader(tc.body), nil, nil, got.page); err != nil {
				t.Fatal(err)
			}
			got.check(t, nil)
			if len(got.items) != 3 || got.items[0].Key.Name != "a" || got.items[2].Key.Name != "b" || got.version != "9" {
				t.Fatalf("got %+v", got.items)
			}
			bad := got.items[1]
			if ie, ok := errtype.As[*ItemError](bad.Err); !ok || ie.Stage != tc.stage {
				t.Errorf("error %v", bad.Err)
			}
			if id := (encoding.Identity{Key: bad.Key, UID: bad.UID, Version: bad.ResourceVersion}); id != tc.id {
				t.Errorf("identity %+v, want %+v", id, tc.id)
			}
		})
	}
}

func TestAListThatIsNoListIsRefused(t *testing.T) {
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{MaxObjectBytes: 1000}))
	huge := strings.Repeat("x", 2000)
	item := []byte(`{"metadata":{"name":"a"}}`)
	field2 := func(size byte) []byte {
		return append(bytes.Clone(protoMagic), 2<<3|wireBytes, size, 2<<3|wireBytes, 100)
	}
	for name, body := range map[string][]byte{
		"nothing":                      nil,
		"spaces":                       []byte("  \n"),
		"a web page":                   []byte("<html>"),
		"no members":                   []byte("{}"),
		"other members":                []byte(`{"a":1}`),
		"a pod":                        jsonBytes(pod("ns", "a", "1")),
		"a pod in protobuf":            protoBytes(pod("ns", "a", "1")),
		"an array":                     []byte(`[]`),
		"items that are an object":     []byte(`{"items":{}}`),
		"no comma between items":       []byte(`{"items":[{} {}]}`),
		"a comma behind the last":      []byte(`{"items":[{},]}`),
		"a comma behind the last name": []byte(`{"items":[],}`),
		"a name that is a number":      []byte(`{1:2}`),
		"no colon":                     []byte(`{"items"[]}`),
		"no value":                     []byte(`{"items":}`),
		"metadata of another type":     []byte(`{"metadata":3,"items":[]}`),
		"text behind its end":          []byte(`{"items":[]}x`),
		"an item too large":            fmt.Appendf(nil, `{"items":[%s,{"metadata":{"name":%q}}]}`, item, huge),
		"a name too large":             fmt.Appendf(nil, `{"%s":[]}`, huge),
		"an item too large, protobuf":  protoListOf("PodList", metav1.ListMeta{}, protoItem(pod("ns", huge, "1"))),
		"a wrong magic":                []byte("k8x\x00abc"),
		"half a magic":                 []byte("k8"),
		"magic alone":                  []byte("k8s\x00"),
		"an item beyond its list":      field2(2),
		"a group":                      append(bytes.Clone(protoMagic), 3<<3|3),
		"field number 0":               append(bytes.Clone(protoMagic), 2, 0),
		"an endless varint":            append(bytes.Clone(protoMagic), bytes.Repeat([]byte{0xff}, 20)...),
		"two lists":                    append(protoListOf("PodList", metav1.ListMeta{}), 2<<3|wireBytes, 0),
		"a kind that is garbage":       append(bytes.Clone(protoMagic), 1<<3|wireBytes, 1, 0xff),
		"a length beyond all bounds":   append(bytes.Clone(protoMagic), 2<<3|wireBytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
	} {
		t.Run(name, func(t *testing.T) {
			var got listed[*corev1.Pod]
			err := dec.list(false, bytes.NewReader(body), nil, nil, got.page)
			if err == nil {
				t.Errorf("taken for a list of %d", len(got.items))
			}
			t.Log(err)
		})
	}
}

func TestTheMembersOfAListMayComeInAnyOrder(t *testing.T) {
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
	for _, body := range []string{
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}}]}`,
		`{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"9"},"kind":"PodList","apiVersion":"v1"}`,
		"\n{ \"items\" : [ {\"metadata\":{\"name\":\"a\"}} ] ,\"extra\":[1,{\"a\":\"]\"}], \"metadata\" : {\"resourceVersion\":\"9\"} } \n",
	} {
		var got listed[*corev1.Pod]
		if err := dec.list(false, strings.NewReader(body), nil, nil, got.page); err != nil || len(got.items) != 1 || got.version != "9" || got.bytes != int64(len(body)) {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
	for _, empty := range []string{`{"kind":"PodList","apiVersion":"v1","items":null}`, `{"kind":"PodList","apiVersion":"v1"}`, `{"items":[]}`} {
		var got listed[*corev1.Pod]
		if err := dec.list(false, strings.NewReader(empty), nil, nil, got.page); err != nil || len(got.pages) != 1 || len(got.items) != 0 {
			t.Errorf("%s: %+v %v", empty, got, err)
		}
	}
	late := `{"items":[],"status":"Failure","message":"gone","reason":"Expired","code":410,"kind":"Status","apiVersion":"v1"}`
	if err := dec.list(false, strings.NewReader(late), nil, nil, new(listed[*corev1.Pod]).page); err == nil {
		t.Error("a Status with items was taken for a list")
	}
	status := `{"status":"Failure","message":"gone","reason":"Expired","code":410,"kind":"Status","apiVersion":"v1","metadata":{}}`
	if err := dec.list(false, strings.NewReader(status), nil, nil, new(listed[*corev1.Pod]).page); !apierrors.IsResourceExpired(err) {
		t.Errorf("%v", err)
	}
}

// widget is a custom resource's type, as controller authors write them.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Size              panicky `json:"size,omitempty"`
}

func (w *widget) DeepCopyObject() runtime.Object { c := *w; return &c }

type panicky int

func (p *panicky) UnmarshalJSON(b []byte) error {
	if string(b) == "13" {
		panic("thirteen")
	}
	_, err := fmt.Sscan(string(b), (*int)(p))
	return err
}

type oddWidgets struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []widget `json:"items"`
}

func (w *oddWidgets) DeepCopyObject() runtime.Object { c := *w; return &c }

func TestAPanicWhileDecodingIsOneItemsError(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gv.WithKind("Widget"), &widget{})
	s.AddKnownTypeWithName(gv.WithKind("WidgetSet"), &oddWidgets{})
	dec := must(decoderOf[*widget](gv, Options{Scheme: s}))
	if must(dec.codec.accept("", false, false)) != "application/json" {
		t.Errorf("a type without protobuf asks for %s", must(dec.codec.accept("", false, false)))
	}
	body := `{"apiVersion":"example.com/v1","kind":"WidgetSet","items":[` +
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"size":12},` +
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"},"size":13},` +
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"},"size":14}]}`
	var got listed[*widget]
	if err := dec.list(false, strings.NewReader(body), nil, nil, got.page); err != nil || len(got.items) != 3 {
		t.Fatalf("%d items: %v", len(got.items), err)
	}
	if perr, ok := errtype.As[*PanicError](got.items[1].Err); !ok || perr.Value != "thirteen" || got.items[1].Key.Name != "b" {
		t.Errorf("%+v", got.items[1])
	}
	if got.items[2].Object.Size != 14 || got.items[2].Object.Kind != "Widget" {
		t.Errorf("%+v", got.items[2].Object)
	}
	// A list of somebody else's is none, whatever the scheme knows.
	other := strings.Replace(body, "WidgetSet", "Other", 1)
	if err := dec.list(false, strings.NewReader(other), nil, nil, got.page); err == nil {
		t.Error("a list of another kind was taken")
	}
	if _, err := decoderOf[*widget](schema.GroupVersion{Group: "other", Version: "v1"}, Options{Scheme: s}); err == nil {
		t.Error("a type registered for another group was taken")
	}
}

func TestWhatIsDecodedDoesNotAliasTheBuffer(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			pods, _ := randomPods(t, 20)
			body := c.object(pods)
			var got listed[*corev1.Pod]
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			// The decoder's buffer is this reader's to scribble on, as soon
			// as all of it was decoded.
			s := &scribbler{r: bytes.NewReader(body)}
			if err := dec.list(false, s, nil, nil, got.page); err != nil {
				t.Fatal(err)
			}
			clean := decodedList(t, body)
			if diff := differences(clean, got.items, cmp.AllowUnexported(store.Key{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func decodedList(t *testing.T, body []byte) []Item[*corev1.Pod] {
	var got listed[*corev1.Pod]
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
	if err := dec.list(false, bytes.NewReader(body), nil, nil, got.page); err != nil {
		t.Fatal(err)
	}
	return got.items
}

// scribbler overwrites, at the end, every buffer that it was given.
type scribbler struct {
	r    *bytes.Reader
	seen [][]byte
}

func (s *scribbler) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.seen = append(s.seen, p[:n])
	if err != nil {
		for _, b := range s.seen {
			for i := range b {
				b[i] = 'Z'
			}
		}
	}
	return n, err
}

// counted counts how often one of it is decoded.
type counted struct{ corev1.Pod }

var countedDecodings atomic.Int64

func (c *counted) UnmarshalJSON(b []byte) error {
	countedDecodings.Add(1)
	return json.Unmarshal(b, &c.Pod)
}

// TestASourceDecodesNothingBeforeItIsAsked: the first object of a type costs
// apimachinery's decoder a third of a megabyte, for a pod.
func TestASourceDecodesNothingBeforeItIsAsked(t *testing.T) {
	for _, opts := range []Options{{}, {DisableSharing: true}} {
		must(FromConfig[*counted](&rest.Config{Host: "localhost"}, podGVR, opts))
	}
	if n := countedDecodings.Load(); n > 0 {
		t.Errorf("%d objects were decoded", n)
	}
}
