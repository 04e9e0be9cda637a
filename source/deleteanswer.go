package source

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// DeleteAnswer reads a server's answer to the delete of one object: a Status, or
// the object. gone reports that the object exists no more. uid is its UID, if the
// answer has it. An object that was only marked for deletion comes as it is now.
func DeleteAnswer(body []byte) (status bool, uid types.UID, gone bool) {
	gvk, st, m := readDeleted(body)
	if gvk == encoding.StatusKind {
		if st.Status != metav1.StatusSuccess || st.Details == nil {
			return true, "", false
		}
		return true, st.Details.UID, true
	}
	if m == nil {
		return false, "", false
	}
	// A namespace has finalizers in its spec, so it is never gone at once.
	if len(m.Finalizers) > 0 || gvk == namespaceKind {
		return false, m.UID, false
	}
	grace := m.DeletionGracePeriodSeconds
	return false, m.UID, grace == nil || *grace == 0
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
