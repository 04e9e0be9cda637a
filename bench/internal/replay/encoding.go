package replay

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// Encoding is how answers are encoded. It is also how paths begin.
type Encoding string

// The encodings.
const (
	Protobuf Encoding = "protobuf"
	JSON     Encoding = "json"
	// Metadata is the pods' metadata alone, as PartialObjectMetadata, in
	// protobuf.
	Metadata Encoding = "metadata"
)

// Encodings are all of them.
var Encodings = [...]Encoding{Protobuf, JSON, Metadata}

func (e Encoding) check() error {
	if !slices.Contains(Encodings[:], e) {
		return fmt.Errorf("replay: no encoding %q", e)
	}
	return nil
}

// item is the kind of what is encoded.
func (e Encoding) item() metav1.TypeMeta {
	if e == Metadata {
		return metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadata"}
	}
	return metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
}

// list is the kind of a list of it.
func (e Encoding) list() metav1.TypeMeta {
	of := e.item()
	of.Kind += "List"
	return of
}

var statusKind = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

// MediaType is what a client asks for.
func (e Encoding) MediaType() string {
	if e == JSON {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeProtobuf
}

// contentType of an answer.
func (e Encoding) contentType(watch bool) string {
	if e != JSON && watch {
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return e.MediaType()
}

// kindJSON is how JSON of a pod begins, as apimachinery writes it: what an
// item of a list leaves out.
const kindJSON = `"kind":"Pod","apiVersion":"v1",`

// pod encodes one pod without what goes around it.
func (e Encoding) pod(p *corev1.Pod) ([]byte, error) {
	p.TypeMeta = e.item()
	switch e {
	case Protobuf:
		return p.Marshal()
	case Metadata:
		return (&metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}).Marshal()
	}
	b, err := text(p)
	if err == nil && !bytes.HasPrefix(b, []byte("{"+kindJSON)) {
		err = fmt.Errorf("replay: JSON of a pod begins with %q", b[:min(len(b), 40)])
	}
	return b, err
}

// bookmark encodes one that says that all was sent up to version; end marks
// the end of the initial events.
func (e Encoding) bookmark(version string, end bool) ([]byte, error) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if end {
		p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return e.pod(p)
}

// expired encodes the status by which a server says that a version is gone.
func (e Encoding) expired() ([]byte, error) {
	st := &metav1.Status{
		TypeMeta: statusKind,
		Status:   metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired,
		Message: "too old resource version",
	}
	if e == JSON {
		return text(st)
	}
	return st.Marshal()
}

func text(obj runtime.Object) ([]byte, error) {
	var b bytes.Buffer
	s := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{})
	err := s.Encode(obj, &b)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
