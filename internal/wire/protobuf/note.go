package protobuf

import "github.com/kinglet-go/kinglet/internal/wire/share"

// The records of a message in this package's memos, in the order of its bytes:
//
//   - A closed record is a run: some fields that follow each other. Its number is
//     the places of the first and the last of them, its hash and size are those of
//     their bytes, tags included. If a message has the same bytes, these fields
//     are the previous version's, and so are the absent fields between them: a message
//     whose fields are not in the order of their numbers has no records.
//   - An open record is a field that changed when it was last seen. Inside are
//     the records of its content.
//   - A field without a record is small, or has changed.
//
// For a list, a number is the index of an element: of the first one of a run.

// minRun is the smallest run that is remembered. Shorter strings are mostly known to
// the table, and so in the CPU's caches.
const minRun = 16

func runNumber(first, last int) int { return first | last<<8 }

func runFirst(r *share.Record) int { return r.Field() & 0xff }

func runLast(r *share.Record) int { return r.Field() >> 8 }

// pending is a run that may become longer: the bytes from begin to end of the
// message. It is empty if these are equal.
type pending struct {
	begin, end  int
	first, last int
}

// extend adds a field, whose bytes are those from start to end.
func (p *pending) extend(place, start, end int) {
	if p.begin == p.end {
		p.begin, p.first = start, place
	}
	p.end, p.last = end, place
}

// note writes the run's record to a place that was reserved for it.
func (p *pending) note(d *decoder, at share.Mark, number int, raw []byte) {
	d.session.NoteFlat(at, number, p.end-p.begin, d.table.Sum(raw[p.begin:p.end]))
	*p = pending{}
}

func (p *pending) large() bool { return p.end-p.begin >= minRun }

// flush writes the record of a message's run, if it is worth one.
func (p *pending) flush(d *decoder, raw []byte) {
	if p.large() {
		p.note(d, d.session.Reserve(), runNumber(p.first, p.last), raw)
		return
	}
	*p = pending{}
}

// flushList is flush for a list's run.
func (p *pending) flushList(d *decoder, b []byte) {
	if p.large() {
		p.note(d, d.session.Reserve(), p.first, b)
		return
	}
	*p = pending{}
}

// flushIf is flush if records are wanted.
func (p *pending) flushIf(note bool, d *decoder, raw []byte) {
	if note && p.large() {
		p.flush(d, raw)
		return
	}
	*p = pending{}
}
