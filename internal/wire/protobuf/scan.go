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
