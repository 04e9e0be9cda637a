package protobuf

// uvarint reads a varint at raw[i:] and returns where it ends, or -1 if it does not
// end within 10 bytes. As in gogo's code, bits beyond the 64th are lost.
func uvarint(raw []byte, i int) (uint64, int) {
	if uint(i) < uint(len(raw)) && raw[i] < 0x80 {
		return uint64(raw[i]), i + 1
	}
	return uvarintSlow(raw, i)
}

func uvarintSlow(raw []byte, i int) (uint64, int) {
	var v uint64
	for shift := uint(0); shift < 64 && uint(i) < uint(len(raw)); shift += 7 {
		b := raw[i]
		i++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// extent reads the length at raw[i:] and returns where the value of that length
// begins and ends. end is -1 if it ends beyond raw.
func extent(raw []byte, i int) (begin, end int) {
	n, i := uvarint(raw, i)
	if i < 0 || n > uint64(len(raw)-i) {
		return 0, -1
	}
	return i, i + int(n)
}

// skip returns where the value of a wire type at raw[i:] ends, or -1 if it does not
// end in raw, or is a group.
func skip(raw []byte, i int, wire uint8) int {
	switch wire {
	case wireVarint:
		_, i = uvarint(raw, i)
		return i
	case wireFixed64:
		i += 8
	case wireBytes:
		_, i = extent(raw, i)
		return i
	case wireFixed32:
		i += 4
	default:
		return -1
	}
	if i > len(raw) {
		return -1
	}
	return i
}

// tagAt reads a tag and returns the field number, the wire type, and where the tag
// ends, or -1. Numbers that do not fit gogo's int32 are refused.
func tagAt(raw []byte, i int) (number uint, wire uint8, next int) {
	tag, i := uvarint(raw, i)
	if i < 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, -1
	}
	return uint(tag >> 3), uint8(tag & 7), i
}

// Identity is the identity in an object's metadata. The slices alias the object's
// bytes, and are nil for absent fields.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Field numbers of metadata in an object, and of Identity's fields in metadata. They
// are the same for every type that has an ObjectMeta.
const (
	numberMetadata        = 1
	numberName            = 1
	numberNamespace       = 3
	numberUID             = 5
	numberResourceVersion = 6
	numberManagedFields   = 17
)

// IdentityOf reads the identity from an object's bytes, without allocating. It is not ok
// if Metadata is not, or that is malformed.
func IdentityOf(raw []byte) (id Identity, ok bool) {
	meta, ok := Metadata(raw)
	return id, ok && id.read(meta)
}

// Metadata returns the bytes of an object's metadata. It is not ok if there is none, or it
// occurs twice, or the bytes are malformed at its level.
func Metadata(raw []byte) (meta []byte, ok bool) {
	for i := 0; i < len(raw); {
		number, wire, next := tagAt(raw, i)
		if next < 0 {
			return nil, false
		}
		if number == numberMetadata {
			if wire != wireBytes || ok {
				return nil, false
			}
			begin, end := extent(raw, next)
			if end < 0 {
				return nil, false
			}
			meta, ok, i = raw[begin:end], true, end
			continue
		}
		if i = skip(raw, next, wire); i < 0 {
			return nil, false
		}
	}
	return meta, ok
}

func (id *Identity) read(meta []byte) bool {
	for i := 0; i < len(meta); {
		number, wire, next := tagAt(meta, i)
		if next < 0 {
			return false
		}
		var field *[]byte
		switch number {
		case numberName:
			field = &id.Name
		case numberNamespace:
			field = &id.Namespace
		case numberUID:
			field = &id.UID
		case numberResourceVersion:
			field = &id.ResourceVersion
		default:
			if i = skip(meta, next, wire); i < 0 {
				return false
			}
			continue
		}
		begin, end := extent(meta, next)
		if wire != wireBytes || end < 0 {
			return false
		}
		// If a string occurs twice, the last one counts.
		*field, i = meta[begin:end], end
	}
	return true
}

// MaxDepth is how deep messages may nest. Only types that contain themselves
// can come near.
const MaxDepth = 1000

// fits reports that Unmarshal of raw would nest at most MaxDepth messages. It
// follows raw as gogo's code does, up to where that would return an error.
func (m *message) fits(raw []byte) bool {
	s := depthScan{}
	s.message(m, raw)
	return !s.deep
}

type depthScan struct {
	depth int
	deep  bool
}

// message reports whether Unmarshal would continue after raw.
func (s *depthScan) message(m *message, raw []byte) bool {
	if s.depth++; s.depth > MaxDepth {
		s.deep = true
		return false
	}
	for i := 0; i < len(raw); {
		tag, next := uvarint(raw, i)
		if next < 0 {
			return false
		}
		i = next
		number, wire := int32(tag>>3), uint8(tag&7)
		if number <= 0 {
			return false
		}
		o := m.find(number)
		if o == nil || o.elem == nil || wire != wireBytes {
			if i = s.skip(raw, i, wire); i < 0 {
				return false
			}
			continue
		}
		begin, end := extent(raw, i)
		if end < 0 {
			return false
		}
		ok := true
		if o.kind == kindMessageMap {
			ok = s.entry(o.elem, raw, begin, end)
		} else if !o.elem.foreign {
			ok = s.message(o.elem, raw[begin:end])
		}
		if !ok {
			return false
		}
		i = end
	}
	s.depth--
	return true
}

// entry follows a map's entry. As gogo reads it, the value may reach beyond the
// entry's end.
func (s *depthScan) entry(m *message, raw []byte, i, entryEnd int) bool {
	for i < entryEnd {
		tag, next := uvarint(raw, i)
		if next < 0 {
			return false
		}
		i = next
		switch int32(tag >> 3) {
		case 1, 2:
			begin, end := extent(raw, i)
			if end < 0 {
				return false
			}
			if int32(tag>>3) == 2 && !m.foreign && !s.message(m, raw[begin:end]) {
				return false
			}
			i = end
		default:
			if i = s.skip(raw, i, uint8(tag&7)); i < 0 {
				return false
			}
		}
	}
	return true
}

// skip is like the function skip, but follows groups.
func (s *depthScan) skip(raw []byte, i int, wire uint8) int {
	for depth := 0; ; {
		switch wire {
		case 3:
			depth++
		case 4:
			if depth == 0 {
				return -1
			}
			depth--
		default:
			if i = skip(raw, i, wire); i < 0 {
				return -1
			}
		}
		if depth == 0 {
			return i
		}
		var tag uint64
		if tag, i = uvarint(raw, i); i < 0 {
			return -1
		}
		wire = uint8(tag & 7)
	}
}

func (m *message) find(number int32) *op {
	if int(number) < len(m.index) {
		if x := m.index[number]; x != 0 {
			return &m.ops[x-1]
		}
	}
	return nil
}
