package source

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// benchPod is about 6 KB in protobuf.
func benchPod(i int) *corev1.Pod { return testpods.Large(i%50, i/50, 0, false) }

// BenchmarkWatch decodes a stream of events that are all there, one an
// iteration, beside client-go's decoders on the same bytes.
func BenchmarkWatch(b *testing.B) {
	for _, c := range codecs() {
		var stream []byte
		const distinct = 256
		for i := range distinct {
			stream = append(stream, c.frame("MODIFIED", benchPod(i))...)
		}
		b.Run(c.name+"/kinglet", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stream) / distinct))
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			left := b.N
			err := dec.watch(&repeat{data: stream}, nil, nil, func(events []Event[*corev1.Pod]) error {
				if left -= len(events); left <= 0 {
					return errEnough
				}
				return nil
			})
			if err != errEnough {
				b.Fatal(err)
			}
		})
		b.Run(c.name+"/client-go", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stream) / distinct))
			info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.WithoutConversion().SupportedMediaTypes(), c.contentType)
			frames := info.StreamSerializer.NewFrameReader(io.NopCloser(&repeat{data: stream}))
			dec := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), scheme.Codecs.WithoutConversion().DecoderToVersion(info.Serializer, nil))
			for range b.N {
				if _, _, err := dec.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList decodes a list of 1,000 pods, beside client-go's decoders on
// the same bytes, which are in memory already.
func BenchmarkList(b *testing.B) {
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := range 1000 {
		pods.Items = append(pods.Items, *benchPod(i))
	}
	for _, c := range codecs() {
		body := c.object(pods)
		b.Run(c.name+"/kinglet", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			for b.Loop() {
				n := 0
				err := dec.list(false, bytes.NewReader(body), nil, nil, func(p Page[*corev1.Pod]) error { n += len(p.Items); return nil })
				if err != nil || n != 1000 {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(c.name+"/client-go", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.WithoutConversion().SupportedMediaTypes(), c.contentType)
			dec := scheme.Codecs.WithoutConversion().DecoderToVersion(info.Serializer, nil)
			for b.Loop() {
				// As rest.Request.Do does, which reads the body first.
				raw := must(io.ReadAll(bytes.NewReader(body)))
				if obj, err := runtime.Decode(dec, raw); err != nil || len(obj.(*corev1.PodList).Items) != 1000 {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeat reads data over and over.
type repeat struct {
	data []byte
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.at:])
	r.at = (r.at + n) % len(r.data)
	return n, nil
}

// BenchmarkRelist decodes a list of 1,000 pods that are all held already.
func BenchmarkRelist(b *testing.B) {
	for _, c := range codecs() {
		b.Run(c.name+"/typed", func(b *testing.B) { relist[*corev1.Pod](b, c) })
	}
	b.Run("JSON/unstructured", func(b *testing.B) { relist[*unstructured.Unstructured](b, codecs()[1]) })
}

func relist[T any](b *testing.B, c codecFor) {
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := range 1000 {
		pods.Items = append(pods.Items, *benchPod(i))
	}
	body := c.object(pods)
	dec := must(decoderOf[T](podGVR.GroupVersion(), Options{}))
	s := newSink[T]()
	keep := func(p Page[T]) error {
		for _, it := range p.Items {
			s.put(it)
		}
		return nil
	}
	if err := dec.list(false, bytes.NewReader(body), s.get, nil, keep); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := dec.list(false, bytes.NewReader(body), s.get, nil, keep); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatchHeld decodes the next versions of pods that are held.
func BenchmarkWatchHeld(b *testing.B) {
	for _, c := range codecs() {
		b.Run(c.name+"/typed", func(b *testing.B) { watchHeld[*corev1.Pod](b, c, nil) })
		b.Run(c.name+"/any", func(b *testing.B) { watchHeld[any](b, c, &corev1.Pod{}) })
	}
}

func watchHeld[T any](b *testing.B, c codecFor, example runtime.Object) {
	var stream []byte
	const distinct = 256
	for version := range 2 {
		for i := range distinct {
			p := benchPod(i)
			p.ResourceVersion = fmt.Sprint(1000*(version+2) + i)
			p.Status.Message = p.ResourceVersion
			stream = append(stream, c.frame("MODIFIED", p)...)
		}
	}
	dec := must(decoderOf[T](podGVR.GroupVersion(), Options{Example: example}))
	s := newSink[T]()
	b.ReportAllocs()
	b.SetBytes(int64(len(stream) / distinct / 2))
	left := b.N
	err := dec.watch(&repeat{data: stream}, s.get, nil, func(events []Event[T]) error {
		for _, e := range events {
			s.put(e.Item)
		}
		if left -= len(events); left <= 0 {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		b.Fatal(err)
	}
}

// BenchmarkTransform shares by structure what a transform returns of events
// whose pods are held.
func BenchmarkTransform(b *testing.B) {
	b.Run("typed", func(b *testing.B) { transformHeld(b, nil, slim) })
	b.Run("any", func(b *testing.B) { transformHeld(b, &corev1.Pod{}, boxed(slim)) })
}

func transformHeld[T any](b *testing.B, example runtime.Object, transform func(T) (T, error)) {
	src := newBytesSource[T](Options{Example: example})
	var stream []byte
	const distinct = 256
	for i := range distinct {
		stream = append(stream, protoFrame("MODIFIED", benchPod(i))...)
	}
	m, s := Map[T](src, transform), newSink[T]()
	follow := func() {
		src.bodies = [][]byte{stream}
		err := m.Watch(b.Context(), WatchRequest[T]{Held: s.get}, func(events []Event[T]) error {
			for _, e := range events {
				s.put(e.Item)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	follow()
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		follow()
	}
}
