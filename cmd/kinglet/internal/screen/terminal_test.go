package screen

import (
	"strings"
	"unicode/utf8"
)

// terminal is as much of a terminal as is needed to know what a person sees:
// printing with wrapping at the last column, CR and LF, the cursor going up,
// erasing to the end of line and screen, colours (which it ignores).
type terminal struct {
	width    int
	lines    [][]rune
	row, col int
	pending  string // the beginning of a sequence that is not complete
}

func newTerminal(width int) *terminal { return &terminal{width: width, lines: [][]rune{nil}} }

func (t *terminal) Write(p []byte) (int, error) {
	text := t.pending + string(p)
	t.pending = ""
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				t.pending = text
				return len(p), nil
			}
			t.control(text[2:2+end], text[2+end])
			text = text[2+end+1:]
		case text == "\x1b" || !utf8.FullRuneInString(text):
			t.pending = text
			return len(p), nil
		default:
			r, n := utf8.DecodeRuneInString(text)
			t.print(r)
			text = text[n:]
		}
	}
	return len(p), nil
}

func (t *terminal) control(parameter string, command byte) {
	switch command {
	case 'A':
		n := 0
		for _, c := range parameter {
			n = n*10 + int(c-'0')
		}
		t.row = max(0, t.row-max(1, n))
	case 'J':
		t.lines = t.lines[:t.row+1]
		t.eraseLine()
	case 'K':
		t.eraseLine()
	}
}

func (t *terminal) eraseLine() {
	if t.col < len(t.lines[t.row]) {
		t.lines[t.row] = t.lines[t.row][:t.col]
	}
}

func (t *terminal) print(r rune) {
	switch r {
	case '\r':
		t.col = 0
		return
	case '\n':
		t.row, t.col = t.row+1, 0 // the tty puts a CR before it
	default:
		if t.col >= t.width {
			t.row, t.col = t.row+1, 0
		}
	}
	for t.row >= len(t.lines) {
		t.lines = append(t.lines, nil)
	}
	if r == '\n' {
		return
	}
	for t.col >= len(t.lines[t.row]) {
		t.lines[t.row] = append(t.lines[t.row], ' ')
	}
	t.lines[t.row][t.col] = r
	t.col++
}

// text returns the lines without blanks at their ends.
func (t *terminal) text() []string {
	out := make([]string, len(t.lines))
	for i, l := range t.lines {
		out[i] = strings.TrimRight(string(l), " ")
	}
	return out
}
