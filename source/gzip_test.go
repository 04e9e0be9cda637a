package source

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/store"
)

// gzipped sends what write writes as a server does that compresses.
func gzipped(t *testing.T, write func(w io.Writer, flush func())) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding: %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := must(gzip.NewWriterLevel(w, gzip.BestSpeed))
		write(z, func() {
			z.Flush()
			w.(http.Flusher).Flush()
		})
		z.Close()
	}
}

func TestACompressedListEqualsThatWhichIsNot(t *testing.T) {
	for _, c := range codecs() {
		pods, _ := randomPods(t, 40)
		body := c.object(pods)
		cfg := serve(t, gzipped(t, func(w io.Writer, _ func()) { w.Write(body) }))
		got, err := list(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), ListRequest[*corev1.Pod]{})
		if err != nil || got.bytes != int64(len(body)) {
			t.Fatalf("%d items of %d bytes: %v", len(got.items), got.bytes, err)
		}
		if diff := differences(decodedList(t, body), got.items, cmp.AllowUnexported(store.Key{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// largePods is a list of n pods of 16 KiB each, which is nowhere as a whole.
type largePods struct {
	head, tail []byte
	item       []byte
	name       int // where the number in the item's name stands
	n          int
}

const numberForm = "%08d"

func newLargePods(c codecFor, n int) *largePods {
	p := pod("ns", "pod-"+fmt.Sprintf(numberForm, 0), "1")
	p.Annotations = map[string]string{"a": string(bytes.Repeat([]byte("0123456789abcdef"), 1<<10))}
	l := &largePods{n: n}
	if c.name == "JSON" {
		l.head = []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{}`)
		l.item = append([]byte{','}, jsonBytes(p)...)
		l.tail = []byte("]}")
	} else {
		raw := protoItem(p)
		l.item = append(binary.AppendUvarint([]byte{2<<3 | wireBytes}, uint64(len(raw))), raw...)
		tm := must((&runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal())
		l.head = append(bytes.Clone(protoMagic), 1<<3|wireBytes, byte(len(tm)))
		l.head = append(l.head, tm...)
		l.head = binary.AppendUvarint(append(l.head, 2<<3|wireBytes), uint64(n*len(l.item)+2))
		l.head = append(l.head, 2<<3|wireBytes, 0)
	}
	l.name = bytes.Index(l.item, []byte("pod-")) + len("pod-")
	return l
}

// bytes is how many there are.
func (l *largePods) bytes() int64 { return int64(len(l.head) + l.n*len(l.item) + len(l.tail)) }

// write sends all of it, and calls at before each pod.
func (l *largePods) write(w io.Writer, at func(i int)) error {
	w.Write(l.head)
	for i := range l.n {
		at(i)
		copy(l.item[l.name:], fmt.Sprintf(numberForm, i))
		if _, err := w.Write(l.item); err != nil {
			return err
		}
	}
	_, err := w.Write(l.tail)
	return err
}

func heap() int64 {
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAListIsDecodedWhileItComesAndNeverHeldWhole(t *testing.T) {
	// 1,024 pods of 16 KiB: 16 MiB. What is held is a page (1 MiB, and as much
	// again decoded), a buffer of 256 KiB, and what the server and the
	// connection have. It is looked at after a collection, since nobody knows
	// when the next one comes.
	const pods, most, looks = 1024, 8 << 20, 8
	for _, c := range codecs() {
		for _, compressed := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", compressed ", compressed), func(t *testing.T) {
				l := newLargePods(c, pods)
				first := make(chan struct{})
				write := func(w io.Writer, flush func()) {
					if err := l.write(w, func(i int) {
						// Whoever waits for the end waits for ever.
						if i == pods/4 {
							flush()
							<-first
						}
					}); err != nil {
						t.Error(err)
					}
				}
				handler := gzipped(t, write)
				if !compressed {
					handler = func(w http.ResponseWriter, _ *http.Request) { write(w, w.(http.Flusher).Flush) }
				}
				src := must(FromConfig[*corev1.Pod](serve(t, handler), podGVR, Options{}))
				goruntime.GC()
				before, peak, n, size, next := heap(), int64(0), -1, int64(0), int64(0)
				err := src.List(t.Context(), ListRequest[*corev1.Pod]{Held: newSink[*corev1.Pod]().get}, func(p Page[*corev1.Pod]) error {
					if n < 0 {
						close(first)
					}
					for i := range p.Items {
						if it := &p.Items[i]; n >= 0 && (it.Err != nil || it.Key.Name != "pod-"+fmt.Sprintf(numberForm, n)) {
							t.Fatalf("item %d is %v: %v", n, it.Key, it.Err)
						}
						n++
					}
					size += p.Bytes
					if size >= next {
						goruntime.GC()
						peak = max(peak, heap())
						next += l.bytes() / looks
					}
					return nil
				})
				if err != nil || n != pods || size != l.bytes() {
					t.Errorf("%d pods of %d bytes, want %d of %d: %v", n, size, pods, l.bytes(), err)
				}
				if peak-before > most {
					t.Errorf("the heap grew by %d KiB", (peak-before)>>10)
				}
				t.Logf("%d MiB came, the heap grew by %d KiB", size>>20, (peak-before)>>10)
			})
		}
	}
}
