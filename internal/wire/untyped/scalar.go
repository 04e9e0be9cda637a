package untyped

import (
	"math"
	"strconv"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// scalar decodes a value that is neither an object nor an array. If old, v is last.
func (d *decoder) scalar(at int, last any, had bool) (v any, end int, old, ok bool) {
	if at >= len(d.raw) {
		return nil, at, false, false
	}
	switch d.raw[at] {
	case '"':
		return d.text(at, last)
	case 'n':
		end, ok = scan.Literal(d.raw, at)
		return nil, end, had && last == nil, ok
	case 't', 'f':
		end, ok = scan.Literal(d.raw, at)
		v := d.raw[at] == 't'
		was, is := last.(bool)
		return v, end, is && was == v, ok
	}
	return d.number(at, last)
}

// number decodes a number: into an int64 if it is an integer and fits, else into a
// float64.
func (d *decoder) number(at int, last any) (v any, end int, old, ok bool) {
	end, integer, ok := scan.Number(d.raw, at)
	if !ok {
		return nil, at, false, false
	}
	if integer {
		if n, ok := scan.Int(d.raw[at:end]); ok {
			if was, is := last.(int64); is && was == n {
				return last, end, true, true
			}
			d.session.Allocated += wordBytes
			return n, end, false, true
		}
	}
	n, err := strconv.ParseFloat(string(d.raw[at:end]), 64)
	if err != nil {
		return nil, at, false, false
	}
	if was, is := last.(float64); is && math.Float64bits(was) == math.Float64bits(n) {
		return last, end, true, true
	}
	d.session.Allocated += wordBytes
	return n, end, false, true
}

func (d *decoder) text(at int, last any) (v any, end int, old, ok bool) {
	text, end := scan.Text(d.raw, at, &d.scratch)
	if end < 0 {
		return nil, at, false, false
	}
	if was, is := last.(string); is && was == string(text) {
		return last, end, true, true
	}
	if d.table == nil || len(text) == 0 {
		return string(text), end, false, true
	}
	return boxOf(d.session.Boxed(text)), end, false, true
}
