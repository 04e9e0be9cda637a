package json

import (
	"io"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// decoder is the state of one call of Decode.
type decoder struct {
	session *share.Session
	// table is the session's, or nil if the object must share nothing.
	table *share.Table
	raw   []byte
	// noting: the units that are decoded now are to be remembered.
	noting bool
	// inMap: the value that is decoded now is a map's, and so has no address to be
	// written at.
	inMap bool
	depth int
	tape  tape
	// scratch is for strings with escapes.
	scratch []byte
	spares  *spares
	maker   *memory.Maker
	// times are the last two times that were made for the object.
	times [2]*metav1.Time
	// refused is why the object is not to be given to the official decoder
	// either.
	refused error
}

// Decode decodes the object at the start of raw, which may have space before
// it, and returns how many bytes it took; raw may go on after it. If the
// object does not end within raw, n is 0 and the error io.ErrUnexpectedEOF.
// Any other error is ErrNotObject, an *official.PanicError, a
// *scan.ExponentError, or the error of apimachinery's decoder for the n bytes.
//
// last is the object's previous version, of the plan's type. It is used only if this
// plan made it, and is not written to. The result may share memory with it, and
// with all values in the session's table. Without a table the result shares memory
// with nothing, last is ignored, and the caller may modify the result.
//
// raw is neither kept nor aliased.
func (p *Plan) Decode(s *share.Session, raw []byte, last share.Version) (r share.Result, n int, err error) {
	start := scan.Space(raw, 0)
	if start == len(raw) {
		return share.Result{}, 0, io.ErrUnexpectedEOF
	}
	if raw[start] != '{' {
		return share.Result{}, 0, ErrNotObject
	}
	if s.Table == nil {
		last = share.Version{}
	}
	d := p.decoder(s, raw)
	d.table = s.Table
	r, n = p.fast(d, start, last)
	refused := d.refused
	p.release(d)
	switch {
	case n >= 0:
		return r, n, nil
	case refused != nil:
		end, ok := scan.Value(raw, start)
		if !ok {
			return share.Result{}, 0, io.ErrUnexpectedEOF
		}
		return share.Result{}, end, refused
	}
	return p.official(raw, start)
}

// maxKept is the largest tape, in entries of 12 bytes, and the longest scratch,
// in bytes, that are kept for the next object.
const maxKept = 1 << 14

func (p *Plan) decoder(s *share.Session, raw []byte) *decoder {
	d, ok := p.spare.Get().(*decoder)
	if !ok {
		d = &decoder{spares: &spares{}, maker: &memory.Maker{}}
	}
	d.reset(s, raw)
	return d
}

// release keeps a decoder's memory for another call. One that panicked is not
// kept.
func (p *Plan) release(d *decoder) {
	if cap(d.tape.entries) > maxKept || cap(d.scratch) > maxKept {
		return
	}
	d.reset(nil, nil)
	p.spare.Put(d)
}

// reset keeps nothing but memory.
func (d *decoder) reset(s *share.Session, raw []byte) {
	*d = decoder{session: s, raw: raw, tape: tape{entries: d.tape.entries[:0]}, scratch: d.scratch[:0], spares: d.spares, maker: d.maker}
}

// official decodes with apimachinery's decoder.
func (p *Plan) official(raw []byte, start int) (r share.Result, n int, err error) {
	end, ok := scan.Value(raw, start)
	if !ok {
		return share.Result{}, 0, io.ErrUnexpectedEOF
	}
	v := reflect.New(p.root.typ)
	if err := official.JSON(raw[start:end], v.Interface()); err != nil {
		return share.Result{}, end, err
	}
	r.Object = v.UnsafePointer()
	for i := range p.root.fields {
		f := &p.root.fields[i]
		if f.identity == notIdentity {
			continue
		}
		s := (*string)(unsafe.Add(r.Object, f.offset))
		identify(&r, f.identity, *s)
		*s = ""
	}
	p.drops.Clear(v)
	return r, end, nil
}

func identify(r *share.Result, which identity, s string) {
	if which == isKind {
		r.Kind = s
	} else {
		r.APIVersion = s
	}
}
