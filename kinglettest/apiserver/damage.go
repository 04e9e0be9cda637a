package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// damage changes the bytes of obj within raw so that no decoder of a Go type accepts them,
// although its name can still be read and the bytes around them are valid.
func (f *form) damage(raw []byte, obj runtime.Object) ([]byte, error) {
	if f.info.EncodesAsText {
		return damageJSON(raw, obj)
	}
	return damageProtobuf(raw, obj)
}

// damageJSON makes the labels a number.
func damageJSON(raw []byte, obj runtime.Object) ([]byte, error) {
	from := 0
	if piece, err := json.Marshal(obj); err != nil {
		return nil, err
	} else if i := bytes.Index(raw, piece); i >= 0 {
		from = i // in a list
	}
	begin := []byte(`"metadata":{`)
	i := bytes.Index(raw[from:], begin)
	if i < 0 {
		return nil, fmt.Errorf("BUG: %v has no metadata", keyOf(obj))
	}
	at := from + i + len(begin)
	return append(append(bytes.Clone(raw[:at]), `"labels":7,`...), raw[at:]...), nil
}

// damageProtobuf gives the field after the metadata a wire type that does not
// exist. The length stays.
func damageProtobuf(raw []byte, obj runtime.Object) ([]byte, error) {
	m, ok := obj.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("BUG: %T is served as protobuf", obj)
	}
	piece, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	at := bytes.Index(raw, piece)
	if at < 0 {
		return nil, fmt.Errorf("BUG: %v is not in its answer", keyOf(obj))
	}
	out := bytes.Clone(raw)
	// Field 1 is the metadata, in every kind: 0x0a, its length, itself.
	n, w := binary.Uvarint(piece[1:])
	next := 1 + w + int(n)
	if next >= len(piece) {
		next = 0
	}
	out[at+next] |= 0x07
	return out, nil
}

// damageList damages the items of a list that damaged chooses.
func (f *form) damageList(raw []byte, list runtime.Object, damaged func(types.NamespacedName) bool) ([]byte, error) {
	if !meta.IsListType(list) {
		return raw, nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if !damaged(keyOf(it)) {
			continue
		}
		if raw, err = f.damage(raw, it); err != nil {
			return nil, err
		}
	}
	return raw, nil
}
