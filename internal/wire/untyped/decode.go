package untyped

import (
	"io"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// maxDepth is how deep the fast path goes; real objects stay below 40, except for
// schemas of definitions. Deeper ones are decoded as if there were no plan.
const maxDepth = 100

// Decode decodes the object that raw begins with, and returns how many bytes it
// took; raw may go on after it. Nothing refers to raw afterwards. last is the
// object's previous version, a VersionOf. It is used only if this plan made it.
//
// If the object does not end within raw, n is 0 and the error is
// io.ErrUnexpectedEOF. With any other error n is where the faulty object ends, or
// 0 if that is unknown.
//
// Without a table in s nothing is shared, and the caller may modify the object.
func (p *Plan) Decode(s *share.Session, raw []byte, last share.Version) (r Result, n int, err error) {
	at := scan.Space(raw, 0)
	if at == len(raw) {
		return Result{}, 0, io.ErrUnexpectedEOF
	}
	if raw[at] == '{' {
		if r, end, ok := p.fast(s, raw, at, last); ok {
			return r, end, nil
		}
	}
	return p.slow(raw, at)
}

func (p *Plan) fast(s *share.Session, raw []byte, at int, version share.Version) (Result, int, bool) {
	d := p.decoders.Get().(*decoder)
	d.raw, d.session, d.table = raw, s, s.Table
	if d.table == nil {
		version = share.Version{}
	}
	s.Begin()
	last, records := version.By(p.id)
	f := frame{last: memory.Map[any](last), memo: records, note: d.table != nil, drops: p.drops, root: true}
	m, end, same, ok := d.object(at, &f)
	p.release(d, ok)
	if !ok || same {
		return Result{Object: m, Same: same}, end, ok
	}
	r := Result{Object: m}
	if s.Table != nil {
		r.Memo = s.Memo(p.id, Address(m))
	}
	return r, end, true
}

// slow decodes with the official decoder.
func (p *Plan) slow(raw []byte, at int) (Result, int, error) {
	end, ok := scan.Value(raw, at)
	switch {
	case ok:
	case raw[at] == '{' || raw[at] == '[' || raw[at] == '"':
		return Result{}, 0, io.ErrUnexpectedEOF
	default:
		// A number has no delimiter at its end; anything else is no value.
		end = len(raw)
	}
	var m map[string]any
	if err := json.Unmarshal(raw[at:end], &m); err != nil {
		if !ok {
			end = 0
		}
		return Result{}, end, err
	}
	p.drops.ClearUntyped(m)
	return Result{Object: m}, end, nil
}
