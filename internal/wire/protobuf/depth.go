package protobuf

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
