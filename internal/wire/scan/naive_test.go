package scan

import (
	"math/rand/v2"
	"strings"
)

// naiveEnd is End's twin, byte by byte.
func naiveEnd(b []byte) int {
	if len(b) == 0 || strings.IndexByte("}],: \n\t\r", b[0]) >= 0 {
		return 0
	}
	depth, in, escaped := 0, false, false
	scalar := b[0] != '{' && b[0] != '[' && b[0] != '"'
	for i, c := range b {
		switch {
		case scalar:
			if strings.IndexByte(",:}]{[\" \n\t\r", c) >= 0 {
				return i
			}
			continue
		case escaped:
			escaped = false
			if c == '"' || c == '\\' {
				continue
			}
		}
		switch {
		case c == '\\':
			escaped = true
		case c == '"':
			in = !in
			if !in && depth == 0 {
				return i + 1
			}
		case in:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// shred returns text of what matters to a scanner, most often not JSON.
func shred(r *rand.Rand, n int) []byte {
	const alphabet = `""\\{}[],: 019-+.eE` + "ab\n\t\x00\x1f\x20\x7f\x80\xa2\xdb\xdc\xfb\xfd\xff" + "truefalsnu"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return b
}

// value appends valid JSON, of any shape, without space around it.
func value(r *rand.Rand, b []byte, depth int) []byte {
	kind := r.IntN(7)
	if depth <= 0 {
		kind = r.IntN(4)
	}
	switch kind {
	case 0:
		return append(b, []string{"null", "true", "false"}[r.IntN(3)]...)
	case 1:
		return append(b, []string{"0", "-1", "12.5", "1e9", "-0.25E-3", "123456789012345678901"}[r.IntN(6)]...)
	case 2, 3:
		return text(r, b)
	case 4, 5:
		b = append(b, '{')
		for i := range r.IntN(5) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(space4(r, text(r, space4(r, b))), ':')
			b = space4(r, value(r, space4(r, b), depth-1))
		}
		return append(b, '}')
	}
	b = append(b, '[')
	for i := range r.IntN(5) {
		if i > 0 {
			b = append(b, ',')
		}
		b = space4(r, value(r, space4(r, b), depth-1))
	}
	return append(b, ']')
}

func text(r *rand.Rand, b []byte) []byte {
	parts := []string{`a`, `name`, `{`, `}`, `[`, `]`, `\"`, `\\`, `\n`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, "\u00e4", "\u65e5", "\xff", `\/`, `spec.containers`}
	b = append(b, '"')
	for range r.IntN(6) {
		b = append(b, parts[r.IntN(len(parts))]...)
	}
	return append(b, '"')
}

func space4(r *rand.Rand, b []byte) []byte {
	if r.IntN(8) == 0 {
		return append(b, []string{" ", "\n", "\t", "\r\n"}[r.IntN(4)]...)
	}
	return b
}
