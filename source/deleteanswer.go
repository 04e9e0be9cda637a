package source

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Deletion is a server's answer to the delete of one object.
type Deletion struct {
	// Status: the answer is a Status; else it is the object.
	Status bool
	// Gone: the object exists no more. It was not only marked for deletion.
	Gone bool
	// UID is the object's, if the answer has it. Version is one at which it existed, or
	// ceased to, if the answer is the object.
	UID     types.UID
	Version string
}

// DeleteAnswer reads a server's answer to the delete of one object: a Status, or the
// object. An object that was only marked for deletion comes as it is now.
func DeleteAnswer(body []byte) (d Deletion) {
	gvk, st, m := readDeleted(body)
	switch {
	case gvk == encoding.StatusKind:
		d.Status = true
		if st.Status == metav1.StatusSuccess && st.Details != nil {
			d.Gone, d.UID = true, st.Details.UID
		}
	case m != nil:
		// A namespace has finalizers in its spec, so it is never gone at once.
		grace := m.DeletionGracePeriodSeconds
		d.Gone = len(m.Finalizers) == 0 && gvk != namespaceKind && (grace == nil || *grace == 0)
		d.UID, d.Version = m.UID, m.ResourceVersion
	}
	return d
}

// readDeleted decodes as much as DeleteAnswer needs.
func readDeleted(body []byte) (gvk schema.GroupVersionKind, st metav1.Status, m *metav1.ObjectMeta) {
	if len(body) == 0 {
		return gvk, st, nil
	}
	enc := encoding.Of(body[0])
	if enc == nil {
		return gvk, st, nil
	}
	o, err := enc.Object(body)
	if err != nil {
		return gvk, st, nil
	}
	if gvk = encoding.KindOf(enc, o); gvk == encoding.StatusKind {
		if enc.Unmarshal(o.Raw, &st) != nil {
			return schema.GroupVersionKind{}, st, nil
		}
		return gvk, st, nil
	}
	var p metav1.PartialObjectMetadata
	if gvk.Kind == "" || enc.Unmarshal(o.Raw, &p) != nil {
		// It cannot be read as an object.
		return schema.GroupVersionKind{}, st, nil
	}
	return gvk, st, &p.ObjectMeta
}

// AnswerMetadata returns the metadata of the object that a server answered a write with,
// or of each object of a list. It returns nil for a Status, and for an answer that it
// cannot read.
func AnswerMetadata(body []byte) []metav1.ObjectMeta {
	_, _, m := readDeleted(body)
	switch {
	case m == nil:
		return nil
	case m.Name != "": // a list has none
		return []metav1.ObjectMeta{*m}
	}
	enc := encoding.Of(body[0])
	o, err := enc.Object(body)
	var list metav1.PartialObjectMetadataList
	if err != nil || enc.Unmarshal(o.Raw, &list) != nil {
		return nil
	}
	all := make([]metav1.ObjectMeta, len(list.Items))
	for i := range list.Items {
		all[i] = list.Items[i].ObjectMeta
	}
	return all
}
