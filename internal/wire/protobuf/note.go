package protobuf

import "github.com/kinglet-go/kinglet/internal/wire/share"

// What a memo of this package says of a message, in the order of its bytes:
//
//   - A closed record is a run: some fields that follow each other. Its number
//     is the places of the first and the last of them, its hash and size are
//     those of their bytes, tags and all. Where a message has the same bytes,
//     these fields are the last version's, those between them that are absent
//     too: a message with fields in another order than that of their numbers
//     has no records.
//   - An open record is a field that changed when it was last seen. Inside are
//     the records of what it holds.
//   - What has no record either is small or has changed.
//
// Of a list the numbers are places of elements: of the first one of a run.

// minRun is the smallest run that is remembered. Strings of fewer bytes are
// mostly known to the table, and so warm.
const minRun = 16

func runNumber(first, last int) int { return first | last<<8 }

func runFirst(r *share.Record) int { return r.Field() & 0xff }

func runLast(r *share.Record) int { return r.Field() >> 8 }

// pending is a run that may become longer: bytes begin to end of the message,
// nothing if these are equal.
type pending struct {
	begin, end  int
	first, last int
}

// extend adds a field that stands at start to end.
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
