package json

import "github.com/kinglet-go/kinglet/internal/wire/scan"

// Identity is the identity in an object's bytes. Its fields alias the bytes; one
// that the object does not have is nil.
type Identity struct{ Namespace, Name, UID, ResourceVersion []byte }

// IdentityOf reads an object's identity out of its "metadata", and stops when
// it is complete. It allocates nothing. If a name occurs twice, the first counts.
// ok is false if there is no metadata to read, if one of the values or a name
// before them has an escape, or if raw ends before. The result is a hint: the
// values that are skipped may be invalid.
func IdentityOf(raw []byte) (id Identity, ok bool) {
	if raw, ok = Metadata(raw); !ok {
		return id, false
	}
	m := walker{raw: raw}
	for name := m.open(0); name != nil; name = m.next() {
		var to *[]byte
		switch string(name) {
		case "namespace":
			to = &id.Namespace
		case "name":
			to = &id.Name
		case "uid":
			to = &id.UID
		case "resourceVersion":
			to = &id.ResourceVersion
		}
		if to == nil || *to != nil {
			m.pass()
			continue
		}
		if *to = m.string(); *to == nil {
			return Identity{}, false
		}
		if id.Namespace != nil && id.Name != nil && id.UID != nil && id.ResourceVersion != nil {
			return id, true
		}
	}
	return id, m.ended
}

// Metadata returns raw from where the value of its first "metadata" begins. ok is false if
// there is none, a name before it has an escape, or raw ends before.
func Metadata(raw []byte) (meta []byte, ok bool) {
	m := walker{raw: raw}
	for name := m.open(scan.Space(raw, 0)); name != nil; name = m.next() {
		if string(name) == "metadata" {
			return raw[m.at:], true
		}
		m.pass()
	}
	return nil, false
}

// walker iterates over the members of one object. After a syntax error it has no
// more members, and ended stays false.
type walker struct {
	raw []byte
	// at is where the value of the returned name begins, and later where it
	// ends; -1 after a syntax error.
	at    int
	ended bool
}

// open begins the object at raw[at] and returns its first name.
func (w *walker) open(at int) []byte {
	if at >= len(w.raw) || w.raw[at] != '{' {
		return nil
	}
	w.at = at + 1
	return w.member(true)
}

// next returns the next name, or nil if there is none.
func (w *walker) next() []byte {
	if w.at < 0 {
		return nil
	}
	return w.member(false)
}

func (w *walker) member(first bool) []byte {
	var more bool
	if w.at, more = scan.Item(w.raw, w.at, first, '}'); !more {
		w.ended = w.at >= 0
		return nil
	}
	name := w.string()
	if name == nil {
		return nil
	}
	if w.at = scan.Colon(w.raw, w.at); w.at < 0 {
		return nil
	}
	return name
}

// string returns the string at w.at, or nil if it is none or has an escape.
func (w *walker) string() []byte {
	content, end, plain, ok := scan.String(w.raw, w.at)
	if !ok || !plain {
		w.at = -1
		return nil
	}
	w.at = end
	return content
}

// pass skips the value at w.at.
func (w *walker) pass() {
	end, ok := scan.Value(w.raw, w.at)
	if !ok {
		end = -1
	}
	w.at = end
}
