package protobuf

import "github.com/kinglet-go/kinglet/internal/wire/share"

// note is the record of a unit while the unit is being decoded.
type note struct {
	mark         share.Mark
	number, size int
	// known says that there was a record of the unit: it had changed before.
	known   bool
	private int
}

func (d *decoder) begin(number, size int, rec *share.Record) note {
	return note{d.session.Reserve(), number, size, rec != nil, d.private}
}

// open notes the unit open, or drops its record, and returns true, unless it is
// to be noted closed. compared says that there was a last version, and that
// what was inside could be compared with it.
func (n *note) open(d *decoder, st status, compared bool) bool {
	switch {
	case st == same:
		if !n.known {
			// It has never changed: what is inside need not be remembered.
			d.session.Drop(n.mark)
			n.mark = d.session.Reserve()
		}
		return false
	case compared:
		d.session.NoteOpen(n.mark, n.number, 0)
		return true
	case d.private != n.private:
		d.session.Drop(n.mark)
		return true
	}
	return false
}

func (n *note) close(d *decoder, h share.Hash) { d.session.Note(n.mark, n.number, n.size, h) }
