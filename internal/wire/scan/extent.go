package scan

import "encoding/binary"

// Value returns where the value that begins at b[at] ends, and false if it
// ends beyond b or if no value begins there. A number or a literal has no end
// of its own, so one that reaches the end of b is not known to end.
func Value(b []byte, at int) (end int, ok bool) {
	var e Extent
	n := e.End(b[at:])
	return at + n, n > 0
}

// Extent finds the end of a value over bytes that arrive piece by piece, and
// looks at each byte once. Its zero value stands at the beginning of a value.
type Extent struct {
	// at is how far it has come, in bytes.
	at int
	// depth is how many brackets are open.
	depth int
	// in is ones inside a string, else 0.
	in uint64
	// escaped: the last byte was a backslash that takes the next one.
	escaped bool
}

// End returns the length of the value at the start of b, which has no space
// before it, or 0 if it ends beyond b, or if no value begins there. Called
// again, b must begin with the same bytes and be longer.
func (e *Extent) End(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch c := b[0]; c {
	case '{', '[':
		return e.brackets(b)
	case '"':
		return e.quotes(b)
	case '}', ']', ',', ':', ' ', '\n', '\t', '\r':
		return 0
	}
	return e.scalar(b)
}

// Reset makes e stand at the beginning of the next value.
func (e *Extent) Reset() { *e = Extent{} }

func (e *Extent) brackets(b []byte) int {
	i, depth, in, escaped := e.at, e.depth, e.in, e.escaped
	for i < len(b) {
		var x uint64
		n := 8
		if len(b)-i >= 8 {
			x = binary.LittleEndian.Uint64(b[i:])
		} else {
			n = len(b) - i
			x = tail(b, n)
		}
		x7 := x & low7
		quote := ^differ(x, x7, '"') & flags
		slash := ^differ(x, x7, '\\') & flags
		if slash != 0 || escaped {
			quote, escaped = escape(quote, slash, escaped, n)
		}
		// Byte by byte the number of quotes up to here: odd inside a string.
		in ^= (quote >> 7) * ones
		// '[' and '{' differ in one bit, as ']' and '}' do.
		fold := x7 | 0x20*ones
		opened := ^(differ(x, fold, '{')>>7 | in) & ones
		closed := ^(differ(x, fold, '}')>>7 | in) & ones
		if n := int(closed * ones >> 56); n < depth {
			depth += int(opened*ones>>56) - n
		} else {
			for both := opened | closed; both != 0; both &= both - 1 {
				if lowest := both & -both; opened&lowest != 0 {
					depth++
				} else if depth--; depth <= 0 {
					return i + first(lowest) + 1
				}
			}
		}
		in = (in >> 56 & 1) * ones
		i += n
	}
	e.at, e.depth, e.in, e.escaped = i, depth, in, escaped
	return 0
}

// quotes finds the end of a string that is the value itself.
func (e *Extent) quotes(b []byte) int {
	i, escaped := max(e.at, 1), e.escaped
	for i < len(b) {
		var x uint64
		n := 8
		if len(b)-i >= 8 {
			x = binary.LittleEndian.Uint64(b[i:])
		} else {
			n = len(b) - i
			x = tail(b, n)
		}
		x7 := x & low7
		quote := ^differ(x, x7, '"') & flags
		slash := ^differ(x, x7, '\\') & flags
		if slash != 0 || escaped {
			quote, escaped = escape(quote, slash, escaped, n)
		}
		if quote != 0 {
			return i + first(quote) + 1
		}
		i += n
	}
	e.at, e.escaped = i, escaped
	return 0
}

// scalar finds the end of a number or a literal, which is where something
// else begins.
func (e *Extent) scalar(b []byte) int {
	for i := e.at; i < len(b); i++ {
		switch b[i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\t', '\r':
			return i
		}
	}
	e.at = len(b)
	return 0
}
