package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/errtype"
)

// What hostile or broken input can do is bounded: a clear error each, no panic,
// and no memory for what was only claimed.

// endless repeats a piece for ever, behind a head.
type endless struct {
	head, piece string
	at          int
	read        int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.head)
	e.head = e.head[n:]
	for n < len(b) {
		m := copy(b[n:], e.piece[e.at:])
		e.at = (e.at + m) % len(e.piece)
		n += m
	}
	e.read += int64(n)
	return n, nil
}

// allocated is how much memory fn asks for, freed or not.
func allocated(fn func()) int64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	fn()
	goruntime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func nothing[T any](Page[T]) error { return nil }

// outcomeOf is what both kinds of answer come to: an item and an error.
type outcomeOf struct {
	items []Item[*corev1.Pod]
	err   error
}

// both decodes object, one of two in a list and in a watch, with sharing and
// without.
func both(c codecFor, object []byte) map[string]outcomeOf {
	good := pod("ns", "good", "1")
	var body, stream []byte
	if c.name == "JSON" {
		body = fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","items":[%s,%s]}`, object, jsonBytes(good))
		stream = fmt.Appendf(nil, "{\"type\":\"ADDED\",\"object\":%s}\n%s", object, jsonFrame("ADDED", good))
	} else {
		body = protoListOf("PodList", metav1.ListMeta{}, object, protoItem(good))
		stream = append(protoFrameOf("ADDED", enveloped("v1", "Pod", object)), protoFrame("ADDED", good)...)
	}
	all := map[string]outcomeOf{}
	for _, disable := range []bool{false, true} {
		dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{DisableSharing: disable}))
		s := newSink[*corev1.Pod]()
		var l listed[*corev1.Pod]
		err := dec.list(false, bytes.NewReader(body), s.get, nil, l.page)
		all[fmt.Sprint("list, sharing ", !disable)] = outcomeOf{l.items, err}
		var w watched[*corev1.Pod]
		err = dec.watch(bytes.NewReader(stream), s.get, nil, w.batch)
		all[fmt.Sprint("watch, sharing ", !disable)] = outcomeOf{itemsOf(w.events), err}
	}
	return all
}

func TestNestingWithoutEndIsOneItemsError(t *testing.T) {
	const depth = 1 << 17
	meta := must((&metav1.ObjectMeta{Namespace: "ns", Name: "deep"}).Marshal())
	named := append([]byte{1<<3 | wireBytes, byte(len(meta))}, meta...)
	// A group in a group …, of a field that nobody knows.
	groups := append(bytes.Clone(named), bytes.Repeat([]byte{13<<3 | 3}, depth)...)
	for _, c := range codecs() {
		objects := map[string][]byte{"groups": groups}
		if c.name == "JSON" {
			objects = map[string][]byte{}
			for name, form := range map[string]string{
				"where nobody looks":       `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"deep"},"x":%s}`,
				"where a string was due":   `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"deep"},"spec":{"nodeName":%s}}`,
				"where raw JSON may stand": `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"deep","managedFields":[{"fieldsV1":%s}]}}`,
			} {
				objects["objects, "+name] = fmt.Appendf(nil, form, strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
				objects["arrays, "+name] = fmt.Appendf(nil, form, strings.Repeat("[", depth)+strings.Repeat("]", depth))
			}
		}
		for name, object := range objects {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				for how, got := range both(c, object) {
					if got.err != nil || len(got.items) != 2 || got.items[1].Key != nsName("ns", "good") || got.items[1].Err != nil {
						t.Fatalf("%s: %d items: %v", how, len(got.items), got.err)
					}
					ie, ok := errtype.As[*ItemError](got.items[0].Err)
					if !ok || ie.Key != nsName("ns", "deep") {
						t.Errorf("%s: %v", how, got.items[0].Err)
					}
				}
			})
		}
	}
}

func TestNestingWithoutEndIsOneItemsErrorWhereNoTypeSaysWhatIsDue(t *testing.T) {
	const depth = 1 << 17
	deep := strings.Repeat(`{"a":[`, depth) + strings.Repeat("]}", depth)
	body := `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"deep"},"spec":` + deep + `},{"metadata":{"name":"good"}}]}`
	dec := must(decoderOf[*unstructured.Unstructured](podGVR.GroupVersion(), Options{}))
	var got listed[*unstructured.Unstructured]
	err := dec.list(false, strings.NewReader(body), newSink[*unstructured.Unstructured]().get, nil, got.page)
	if err != nil || len(got.items) != 2 || got.items[0].Err == nil || got.items[0].Key.Name != "deep" || got.items[1].Err != nil {
		t.Errorf("%d items: %v", len(got.items), err)
	}
}

func TestALengthBeyondTheDataGetsNoMemory(t *testing.T) {
	const claimed = 60 << 20 // less than MaxObjectBytes is
	length := binary.AppendUvarint(nil, claimed)
	field := func(number byte, rest ...byte) []byte {
		return append(append([]byte{number<<3 | wireBytes}, length...), rest...)
	}
	inList := func(list []byte) []byte {
		head := binary.AppendUvarint(append(bytes.Clone(protoMagic), 2<<3|wireBytes), claimed+100)
		return append(head, list...)
	}
	lists := map[string][]byte{
		"a list":          inList(nil),
		"an item":         inList(field(2, 1, 2, 3)),
		"list metadata":   inList(field(1, 1, 2, 3)),
		"the list's kind": append(bytes.Clone(protoMagic), field(1, 1)...),
		"a field":         inList(field(9, 1, 2, 3)),
	}
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
	check := func(name string, decode func() error) {
		var err error
		// The rest is buffers: of 16 and of 256 KiB.
		if n := allocated(func() { err = decode() }); n > 1<<20 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d bytes were allocated: %v", name, n, err)
		}
	}
	for name, body := range lists {
		check(name, func() error { return dec.list(false, bytes.NewReader(body), nil, nil, nothing) })
	}
	frame := binary.BigEndian.AppendUint32(nil, claimed)
	check("a frame", func() error {
		return dec.watch(bytes.NewReader(append(frame, 1, 2, 3)), nil, nil, func([]Event[*corev1.Pod]) error { return nil })
	})
	// Within an object, whose own end is known.
	meta := must((&metav1.ObjectMeta{Namespace: "ns", Name: "x"}).Marshal())
	named := append([]byte{1<<3 | wireBytes, byte(len(meta))}, meta...)
	var got map[string]outcomeOf
	n := allocated(func() { got = both(codecs()[0], append(named, field(2, 1)...)) })
	for how, d := range got {
		if d.err != nil || len(d.items) != 2 || d.items[0].Err == nil || d.items[0].Key.Name != "x" {
			t.Errorf("%s: %+v: %v", how, d.items, d.err)
		}
	}
	if n > 4<<20 {
		t.Errorf("an object's field: %d bytes were allocated", n)
	}
}

func TestWhatNeverEndsEndsAtTheLimitOfAnObject(t *testing.T) {
	const limit = 1 << 20
	dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{MaxObjectBytes: limit}))
	listOf := func(r io.Reader) error { return dec.list(false, r, nil, nil, nothing) }
	watchOf := func(r io.Reader) error {
		return dec.watch(r, nil, nil, func([]Event[*corev1.Pod]) error { return nil })
	}
	for _, tc := range []struct {
		name        string
		head, piece string
		decode      func(io.Reader) error
	}{
		{"a string in an event", `{"type":"ADDED","object":{"metadata":{"name":"`, "a", watchOf},
		{"an event of many lines", `{"type":"ADDED",`, "\"a\":1,\n", watchOf},
		{"brackets in an event", `{"type":"ADDED","object":`, "[", watchOf},
		{"a string in an item", `{"items":[{"metadata":{"name":"`, "a", listOf},
		{"members of an item", `{"items":[{`, `"a":1,`, listOf},
		{"a number", `{"items":[1`, "1", listOf},
		{"the name of a member", `{"`, "a", listOf},
		{"the list's kind", `{"kind":"`, "a", listOf},
		{"the list's metadata", `{"metadata":{`, `"a":1,`, listOf},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &endless{head: tc.head, piece: tc.piece}
			var err error
			// Buffers double: 1/4, 1/2, 1 and 2 MiB come to less than four
			// times the limit.
			n := allocated(func() { err = tc.decode(r) })
			if tle, ok := errtype.As[*TooLargeError](err); !ok || tle.Limit != limit {
				t.Errorf("%v", err)
			}
			if r.read > 4*limit || n > 5*limit {
				t.Errorf("%d bytes were read and %d allocated", r.read, n)
			}
		})
	}
}

func TestAStreamWithoutEndIsBoundedInMemory(t *testing.T) {
	// A page or a batch at most is held, and buffers: less than 1 MiB, and twelve
	// times that is allowed. 16 MiB are read, or 43,000 items or 20,000 events, which
	// take a kilobyte each when decoded, and more.
	const enough, enoughItems, enoughEvents, most = 16 << 20, 1 << 17, 4 << 20, 12 << 20
	typedList := func(head, piece string) func(t *testing.T) {
		return func(t *testing.T) {
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			r := &endless{head: head, piece: piece}
			measure(t, most, r, func(look func() error) error {
				return dec.list(false, r, nil, nil, func(Page[*corev1.Pod]) error { return look() })
			}, enoughItems)
		}
	}
	t.Run("tiny items", typedList(`{"items":[{}`, ",{}"))
	t.Run("items in protobuf", typedList(string(protoMagic)+"\x12\xff\xff\xff\xff\x7f", "\x12\x00"))
	t.Run("events", func(t *testing.T) {
		dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
		r := &endless{piece: string(jsonFrame("ADDED", pod("ns", "a", "1")))}
		measure(t, most, r, func(look func() error) error {
			return dec.watch(r, nil, nil, func([]Event[*corev1.Pod]) error { return look() })
		}, enoughEvents)
	})
	for name, r := range map[string]*endless{
		"members":         {head: `{`, piece: `"a":"` + strings.Repeat("x", 100) + `",`},
		"spaces":          {head: `{"items":[`, piece: strings.Repeat(" ", 1<<10)},
		"unknown fields":  {head: string(protoMagic) + "\x12\xff\xff\xff\xff\x7f", piece: "\x4a\x7f" + strings.Repeat("x", 127)},
		"a skipped field": {head: string(protoMagic) + "\x4a\xff\xff\xff\xff\x7f", piece: strings.Repeat("x", 1<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			measure(t, most, r, func(look func() error) error {
				return dec.list(false, &looking{r, look}, nil, nil, nothing)
			}, enough)
		})
	}
	t.Run("spaces in a watch", func(t *testing.T) {
		dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
		r := &endless{piece: strings.Repeat(" ", 1<<10)}
		measure(t, most, r, func(look func() error) error {
			return dec.watch(&looking{r, look}, nil, nil, func([]Event[*corev1.Pod]) error { return nil })
		}, enough)
	})
}

// looking calls look before each read.
type looking struct {
	r    io.Reader
	look func() error
}

func (l *looking) Read(b []byte) (int, error) {
	if err := l.look(); err != nil {
		return 0, err
	}
	return l.r.Read(b)
}

// measure holds what is reachable below most while enough of r is read. It
// collects garbage before it looks, since how much of that lies about is the
// collector's choice, and the machine's load. decode calls look now and then,
// and ends with its error.
func measure(t *testing.T, most int64, r *endless, decode func(look func() error) error, enough int64) {
	t.Helper()
	goruntime.GC()
	before, peak, next := heap(), int64(0), int64(0)
	err := decode(func() error {
		if r.read >= next {
			goruntime.GC()
			peak = max(peak, heap())
			next = r.read + enough/16
		}
		if r.read > enough {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	if peak-before > most {
		t.Errorf("the heap grew by %d KiB", (peak-before)>>10)
	}
	t.Logf("the heap grew by %d KiB", (peak-before)>>10)
}

func TestItemsThatWaitForTheirListsKindWaitNoLongerThanAnObjectIsLarge(t *testing.T) {
	dec := must(decoderOf[*unstructured.Unstructured](podGVR.GroupVersion(), Options{MaxObjectBytes: 1 << 20}))
	r := &endless{head: `{"items":[{"metadata":{"name":"a"}}`, piece: `,{"metadata":{"name":"a"}}`}
	err := dec.list(false, r, nil, nil, nothing)
	if !errors.Is(err, errUnsure) || r.read > 4<<20 {
		t.Errorf("after %d bytes: %v", r.read, err)
	}
}

// lookedAt calls look before each read, and adds up what was read.
type lookedAt struct {
	io.ReadCloser
	look func()
	read *int
}

func (w *lookedAt) Read(b []byte) (int, error) {
	w.look()
	n, err := w.ReadCloser.Read(b)
	*w.read += n
	return n, err
}

func TestAGzipBombIsStoppedByTheLimitOfAnObject(t *testing.T) {
	const limit = 1 << 20
	for _, tc := range []struct {
		name string
		head string
		call func(src Source[*corev1.Pod]) error
	}{
		{"list", `{"items":[{"metadata":{"name":"`, func(src Source[*corev1.Pod]) error {
			return src.List(t.Context(), ListRequest[*corev1.Pod]{}, nothing)
		}},
		{"watch", `{"type":"ADDED","object":{"metadata":{"name":"`, func(src Source[*corev1.Pod]) error {
			return src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error { return nil })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// A gigabyte in a megabyte.
			cfg := serve(t, gzipped(t, func(w io.Writer, _ func()) {
				_, _ = io.CopyN(w, &endless{head: tc.head, piece: strings.Repeat("a", 1<<15)}, 1<<30)
			}))
			// What is decoded from is counted as it is read, and the heap looked at
			// each time that another quarter of the limit was.
			goruntime.GC()
			before, read, next, peak := heap(), 0, 0, int64(0)
			cfg.WrapTransport = func(rt http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					resp, err := rt.RoundTrip(req)
					if err == nil {
						body := resp.Body
						resp.Body = &lookedAt{body, func() {
							if read >= next {
								goruntime.GC()
								peak, next = max(peak, heap()-before), read+limit/4
							}
						}, &read}
					}
					return resp, err
				})
			}
			src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{MaxObjectBytes: limit}))
			err := tc.call(src)
			if tle, ok := errtype.As[*TooLargeError](err); !ok || tle.Limit != limit {
				t.Errorf("%v", err)
			}
			if read < limit || read > 2*limit {
				t.Errorf("stopped after %d bytes, with a limit of %d", read, limit)
			}
			if peak > 16*limit {
				t.Errorf("the heap grew by %d KiB", peak>>10)
			}
			t.Logf("%d KiB read, the heap grew by %d KiB", read>>10, peak>>10)
		})
	}
}
