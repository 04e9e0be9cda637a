package source

import (
	"bytes"
	"encoding/binary"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// emptyList is a list of kind gvk without items, as a server would send it.
func emptyList(media string, gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	tm := runtime.TypeMeta{}
	tm.APIVersion, tm.Kind = gvk.ToAPIVersionAndKind()
	if media == runtime.ContentTypeJSON {
		return json.Marshal(struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        metav1.ListMeta `json:"metadata"`
			Items           []struct{}      `json:"items"`
		}{
			TypeMeta: metav1.TypeMeta{APIVersion: tm.APIVersion, Kind: tm.Kind},
			Metadata: lm,
			Items:    []struct{}{},
		})
	}
	meta, err := lm.Marshal()
	if err != nil {
		return nil, err
	}
	// Field 1 of every list is its ListMeta; 2 is the wire type of bytes.
	list := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(meta)))
	unknown := runtime.Unknown{TypeMeta: tm, Raw: append(list, meta...)}
	body, err := unknown.Marshal()
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(protoMagic), body...), nil
}
