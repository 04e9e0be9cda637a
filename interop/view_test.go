package interop

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// object is one of the server's: a *corev1.Pod with its kind set, or a custom
// resource as *unstructured.Unstructured.
type object struct {
	metav1.Object
}

func (o object) is(other object) bool {
	return o.GetName() == other.GetName() && o.GetNamespace() == other.GetNamespace()
}

// at is a copy of o with another version.
func (o object) at(version string) object {
	c := object{o.Object.(runtime.Object).DeepCopyObject().(metav1.Object)}
	c.SetResourceVersion(version)
	return c
}

// view is what one request accepts: how objects of a resource are shown to it.
type view struct {
	resource string
	media    string
	metadata bool
}

func viewFor(resource, accept string) view {
	v := view{resource: resource, media: runtime.ContentTypeJSON, metadata: strings.Contains(accept, "as=PartialObjectMetadata")}
	if strings.HasPrefix(accept, runtime.ContentTypeProtobuf) && (v.metadata || resource == "pods") {
		v.media = runtime.ContentTypeProtobuf
	}
	return v
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func (v view) encode(obj runtime.Object) []byte {
	if v.media == runtime.ContentTypeJSON {
		return must(json.Marshal(obj))
	}
	tm := runtime.TypeMeta{}
	tm.APIVersion, tm.Kind = obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	raw := must(obj.(interface{ Marshal() ([]byte, error) }).Marshal())
	u := runtime.Unknown{TypeMeta: tm, Raw: raw}
	return append([]byte("k8s\x00"), must(u.Marshal())...)
}

func (v view) shown(obj metav1.Object) runtime.Object {
	if !v.metadata {
		return obj.(runtime.Object)
	}
	return partial(obj)
}

func partial(obj metav1.Object) *metav1.PartialObjectMetadata {
	// The way to metadata is the same for all: through their JSON.
	p := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(must(json.Marshal(obj)), p); err != nil {
		panic(err)
	}
	p.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	return p
}

func (v view) list(lm metav1.ListMeta, objs []object) []byte {
	switch {
	case v.metadata:
		l := &metav1.PartialObjectMetadataList{ListMeta: lm}
		l.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		for _, o := range objs {
			p := partial(o.Object)
			p.TypeMeta = metav1.TypeMeta{}
			l.Items = append(l.Items, *p)
		}
		return v.encode(l)
	case v.resource == "pods":
		l := &corev1.PodList{ListMeta: lm}
		l.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}
		for _, o := range objs {
			p := *o.Object.(*corev1.Pod)
			p.TypeMeta = metav1.TypeMeta{}
			l.Items = append(l.Items, p)
		}
		return v.encode(l)
	}
	l := &unstructured.UnstructuredList{Object: map[string]any{}}
	l.SetAPIVersion("example.com/v1")
	l.SetKind("WidgetList")
	l.SetResourceVersion(lm.ResourceVersion)
	l.SetContinue(lm.Continue)
	l.SetRemainingItemCount(lm.RemainingItemCount)
	for _, o := range objs {
		l.Items = append(l.Items, *o.Object.(*unstructured.Unstructured))
	}
	return v.encode(l)
}

func (v view) frame(eventType string, obj object) []byte {
	e := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: v.encode(v.shown(obj.Object))}}
	if v.media == runtime.ContentTypeJSON {
		return append(must(json.Marshal(&e)), '\n')
	}
	b := must(e.Marshal())
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func (v view) bookmark(version string) []byte {
	var obj object
	if v.resource == "pods" {
		obj.Object = &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	} else {
		obj.Object = widget("", "")
	}
	obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return v.frame("BOOKMARK", obj.at(version))
}

func widget(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Widget")
	if name != "" {
		u.SetNamespace(namespace)
		u.SetName(name)
		u.Object["spec"] = map[string]any{"size": int64(3), "weight": 1.5, "parts": []any{"a", map[string]any{"b": nil}}}
	}
	return u
}

func pemOf(c *x509.Certificate) []byte {
	var b bytes.Buffer
	if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
		panic(err)
	}
	return b.Bytes()
}
