package scan

import "encoding/binary"

// Value returns where the value that begins at b[at] ends, and false if it ends
// beyond b or if no value begins there. A number or a literal has no delimiter, so
// one that reaches the end of b is not known to end.
func Value(b []byte, at int) (end int, ok bool) {
	var e Extent
	n := e.End(b[at:])
	return at + n, n > 0
}

// Extent finds the end of a value in bytes that arrive piece by piece. It looks at each
// byte once, except up to seven at the end of a piece. The zero Extent is at the beginning
// of a value.
type Extent struct {
	// at is how far it has come, in bytes.
	at int
	// depth is how many brackets are open.
	depth int
	// in is ones inside a string, else 0.
	in uint64
	// escaped has the first byte's flag if a backslash before it escapes it.
	escaped uint64
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

func (e *Extent) brackets(b []byte) int {
	if n := e.bracketWords(b); n > 0 || e.at == len(b) {
		return n
	}
	// The rest is scanned again when there is more of it.
	rest, from := *e, e.at
	var word [8]byte
	copy(word[:], b[from:])
	rest.at = 0
	if n := rest.bracketWords(word[:]); n > 0 {
		return from + n
	}
	return 0
}

// bracketWords is brackets for the whole words of b.
func (e *Extent) bracketWords(b []byte) int {
	i, depth, in, escaped := e.at, e.depth, e.in, e.escaped
	for ; len(b)-i >= 16; i += 16 {
		var o0, c0, o1, c1 uint64
		w := b[i : i+16]
		x0, x1 := binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[8:])
		slash, behind := slashes(x0, escaped)
		if slash&behind != 0 {
			slash, behind = runs(slash, escaped)
		}
		o0, c0, in = outside(x0, quotes(x0, behind), in)
		slash, behind = slashes(x1, slash>>56)
		if slash&behind != 0 {
			slash, behind = runs(slash, behind&0x80)
		}
		escaped = slash >> 56
		o1, c1, in = outside(x1, quotes(x1, behind), in)
		// Each byte has up to two, so the highest of the product has up to 16.
		if n := int((c0 + c1) * ones >> 56); n < depth {
			depth += int((o0+o1)*ones>>56) - n
			continue
		}
		var end int
		if depth, end = closes(o0, c0, depth); end == 0 {
			if depth, end = closes(o1, c1, depth); end != 0 {
				end += 8
			}
		}
		if end != 0 {
			return i + end
		}
	}
	if len(b)-i >= 8 {
		var o, c uint64
		var end int
		x := binary.LittleEndian.Uint64(b[i:])
		slash, behind := slashes(x, escaped)
		if slash&behind != 0 {
			slash, behind = runs(slash, escaped)
		}
		escaped = slash >> 56
		o, c, in = outside(x, quotes(x, behind), in)
		if depth, end = closes(o, c, depth); end != 0 {
			return i + end
		}
		i += 8
	}
	e.at, e.depth, e.in, e.escaped = i, depth, in, escaped
	return 0
}

// outside returns a one for each byte of x that opens, and one for each that closes,
// a bracket outside of strings.
func outside(x, quote, in uint64) (opened, closed, in2 uint64) {
	// Each byte has the number of quotes up to there: odd inside a string.
	count := (quote >> 7) * ones
	out := ^(x>>7 | (in ^ count)) & ones
	// '[' and '{' differ in one bit, as ']' and '}' do.
	fold := x&low7 | 0x20*ones
	return out &^ (differ(fold, '{') >> 7), out &^ (differ(fold, '}') >> 7), in ^ (count>>56&1)*ones
}

// closes follows the brackets of one word. It returns how many bytes bring depth to
// 0, or 0 if they do not.
func closes(opened, closed uint64, depth int) (int, int) {
	for both := opened | closed; both != 0; both &= both - 1 {
		if lowest := both & -both; opened&lowest != 0 {
			depth++
		} else if depth--; depth <= 0 {
			return depth, first(lowest) + 1
		}
	}
	return depth, 0
}

// quotes finds the end of a string that is the value itself.
func (e *Extent) quotes(b []byte) int {
	e.at = max(e.at, 1)
	if n := e.quoteWords(b); n > 0 || e.at == len(b) {
		return n
	}
	rest, from := *e, e.at
	var word [8]byte
	copy(word[:], b[from:])
	rest.at = 0
	if n := rest.quoteWords(word[:]); n > 0 {
		return from + n
	}
	return 0
}

func (e *Extent) quoteWords(b []byte) int {
	i, escaped := e.at, e.escaped
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		slash, behind := slashes(x, escaped)
		if slash&behind != 0 {
			slash, behind = runs(slash, escaped)
		}
		escaped = slash >> 56
		if quote := quotes(x, behind); quote != 0 {
			return i + first(quote) + 1
		}
	}
	e.at, e.escaped = i, escaped
	return 0
}

// scalar finds the end of a number or a literal, which is where anything else
// begins.
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
