package source

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// DeleteAnswer reads what a server answered to the delete of one object: a
// Status, or the object. gone says that it exists no more; uid is its UID, as far
// as the answer has it. An object that was only marked is answered as it is now.
func DeleteAnswer(body []byte) (status bool, uid types.UID, gone bool) {
	gvk, st, m := readDeleted(body)
	if gvk == statusKind {
		if st.Status != metav1.StatusSuccess || st.Details == nil {
			return true, "", false
		}
		return true, st.Details.UID, true
	}
	if m == nil {
		return false, "", false
	}
	// It has finalizers in its spec, so it is never gone at once.
	if len(m.Finalizers) > 0 || gvk == namespaceKind {
		return false, m.UID, false
	}
	grace := m.DeletionGracePeriodSeconds
	return false, m.UID, grace == nil || *grace == 0
}

// readDeleted decodes as much as DeleteAnswer needs.
func readDeleted(body []byte) (gvk schema.GroupVersionKind, st metav1.Status, m *metav1.ObjectMeta) {
	var p metav1.PartialObjectMetadata
	if len(body) > 0 && encodingOf(body[0]) == encodingProtobuf {
		o, err := readEnvelope(body)
		if err != nil {
			return gvk, st, nil
		}
		if gvk = o.kind(); gvk == statusKind {
			err = st.Unmarshal(o.raw)
		} else {
			err = p.Unmarshal(o.raw)
		}
		if err != nil {
			return schema.GroupVersionKind{}, st, nil
		}
		return gvk, st, &p.ObjectMeta
	}
	if gvk = jsonKind(body); gvk == statusKind {
		if json.Unmarshal(body, &st) != nil {
			return schema.GroupVersionKind{}, st, nil
		}
		return gvk, st, nil
	}
	if json.Unmarshal(body, &p) != nil {
		return gvk, st, nil
	}
	return gvk, st, &p.ObjectMeta
}
