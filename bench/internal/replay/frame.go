package replay

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// magic begins everything that is enveloped in a runtime.Unknown.
const magic = "k8s\x00"

// unknownEnd are the encoding and the content type of a runtime.Unknown, both
// empty, which are always written.
const unknownEnd = "\x1a\x00\x22\x00"

// appendFrame appends one watch event, obj being an encoded object of
// the kind that of says.
func (e Encoding) appendFrame(b []byte, eventType string, of metav1.TypeMeta, obj []byte) []byte {
	if e == JSON {
		b = append(b, `{"type":"`...)
		b = append(b, eventType...)
		b = append(b, `","object":`...)
		b = append(b, obj...)
		return append(b, "}\n"...)
	}
	unknown := unknownSize(of, len(obj))
	raw := len(magic) + unknown
	extension := 1 + varintSize(raw) + raw
	event := 2 + len(eventType) + 1 + varintSize(extension) + extension
	b = binary.BigEndian.AppendUint32(b, uint32(event))
	b = appendBytes(b, 1, eventType)
	b = appendTag(b, 2, extension)
	b = appendTag(b, 1, raw)
	b = append(b, magic...)
	b = appendUnknownHead(b, of, len(obj))
	b = append(b, obj...)
	return append(b, unknownEnd...)
}

// unknownSize is that of a runtime.Unknown around n bytes.
func unknownSize(of metav1.TypeMeta, n int) int {
	return 2 + typeMetaSize(of) + 1 + varintSize(n) + n + len(unknownEnd)
}

func typeMetaSize(of metav1.TypeMeta) int { return 2 + len(of.APIVersion) + 2 + len(of.Kind) }

// appendUnknownHead appends what stands before the n bytes.
func appendUnknownHead(b []byte, of metav1.TypeMeta, n int) []byte {
	b = appendTag(b, 1, typeMetaSize(of))
	b = appendBytes(b, 1, of.APIVersion)
	b = appendBytes(b, 2, of.Kind)
	return appendTag(b, 2, n)
}

// appendTag begins a field of n bytes.
func appendTag(b []byte, field, n int) []byte {
	const lengthDelimited = 2
	b = append(b, byte(field<<3|lengthDelimited))
	return binary.AppendUvarint(b, uint64(n))
}

func appendBytes(b []byte, field int, s string) []byte {
	return append(appendTag(b, field, len(s)), s...)
}

func varintSize(n int) int { return (bits.Len(uint(n|1)) + 6) / 7 }

// listHead returns what stands before the items of a list whose items take so
// many bytes, see itemSize.
func (e Encoding) listHead(meta metav1.ListMeta, items int) ([]byte, error) {
	if e == JSON {
		list := struct {
			metav1.TypeMeta `json:",inline"`
			metav1.ListMeta `json:"metadata"`
		}{e.list(), meta}
		b, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		return append(b[:len(b)-1], `,"items":[`...), nil
	}
	m, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	n := 1 + varintSize(len(m)) + len(m) + items
	b := appendUnknownHead([]byte(magic), e.list(), n)
	return append(appendTag(b, 1, len(m)), m...), nil
}

// itemSize is what obj takes as an item of a protobuf list. Of a JSON list
// nobody needs to know.
func itemSize(obj []byte) int { return 1 + varintSize(len(obj)) + len(obj) }

// appendItem appends obj as an item.
func (e Encoding) appendItem(b []byte, first bool, obj []byte) []byte {
	if e == JSON {
		if !first {
			b = append(b, ',')
		}
		return append(append(b, '{'), obj[1+len(kindJSON):]...)
	}
	return append(appendTag(b, 2, len(obj)), obj...)
}

// listTail is what stands after the items.
func (e Encoding) listTail() string {
	if e == JSON {
		return "]}\n"
	}
	return unknownEnd
}
