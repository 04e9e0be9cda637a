package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// itemsOf cuts an array or an object by Item, Text and Colon.
func itemsOf(b []byte) (items []string, end int) {
	closing := b[0] + 2
	var scratch []byte
	at, more := Item(b, 1, true, closing)
	for more {
		name := ""
		if closing == '}' {
			text, end := Text(b, at, &scratch)
			if end < 0 {
				return nil, -1
			}
			name = string(text) + "="
			if at = Colon(b, end); at < 0 {
				return nil, -1
			}
		}
		end, ok := Valid(b, at)
		if !ok {
			return nil, -1
		}
		items = append(items, name+string(bytes.TrimSpace(b[at:end])))
		at, more = Item(b, end, false, closing)
	}
	return items, at
}

// itemsByDecoder does the same by encoding/json.
func itemsByDecoder(b []byte) (items []string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	open, err := d.Token()
	if err != nil {
		return nil, false
	}
	for d.More() {
		name := ""
		if open == json.Delim('{') {
			text, err := d.Token()
			if err != nil {
				return nil, false
			}
			name = text.(string) + "="
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil, false
		}
		items = append(items, name+string(raw))
	}
	_, err = d.Token()
	return items, err == nil && json.Valid(b)
}

func TestItemsAreThoseOfEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	spaces := []string{"", "", "", " ", "\n\t", "  "}
	values := []string{`1`, `"a"`, `null`, `[1, 2]`, `{"x" : {}}`, `-1.5e3`, `"\u00e9\n"`, `""`, `[]`}
	good, bad := 0, 0
	for range 50_000 {
		space := func() string { return spaces[r.IntN(len(spaces))] }
		object := r.IntN(2) == 0
		var b strings.Builder
		b.WriteString(map[bool]string{true: "{", false: "["}[object])
		for i := range r.IntN(4) {
			if i > 0 {
				b.WriteString("," + space())
			}
			if object {
				fmt.Fprintf(&b, `%s"n%d\t"%s:%s`, space(), i, space(), space())
			}
			b.WriteString(space() + values[r.IntN(len(values))] + space())
		}
		b.WriteString(space() + map[bool]string{true: "}", false: "]"}[object])
		raw := []byte(b.String())
		if r.IntN(2) == 0 && len(raw) > 1 {
			at := 1 + r.IntN(len(raw)-1)
			switch r.IntN(3) {
			case 0:
				raw[at] = `,:]}"x1`[r.IntN(7)]
			case 1:
				raw = append(raw[:at:at], raw[at+1:]...)
			default:
				raw = raw[:at]
			}
		}
		want, ok := itemsByDecoder(raw)
		got, end := itemsOf(raw)
		// The reader may end before raw does.
		if !ok && end >= 0 && end < len(raw) {
			want, ok = itemsByDecoder(raw[:end])
		}
		if ok != (end >= 0) || ok && strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%s: got %q, %d; want %q, %v", raw, got, end, want, ok)
		}
		if ok {
			good++
		} else {
			bad++
		}
	}
	if good < 1000 || bad < 1000 {
		t.Errorf("%d good ones, %d bad", good, bad)
	}
}
