package source

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

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

// AnswerKey returns the key of the object that a server answered a write with, or the
// zero Key if there is none.
func AnswerKey(body []byte) store.Key {
	if _, _, m := readDeleted(body); m != nil {
		return store.Key{Namespace: m.Namespace, Name: m.Name}
	}
	return store.Key{}
}
