package store

import "bytes"

// front holds what a search needs of the keys of a node, in key order and
// front-coded: for each key, how many bytes it shares with the key before it,
// and the bytes that follow, its text. A node names its keys by slot, and
// reading a key from its object costs two cold cache lines or more. With the
// text a search mostly need not do so. Pods of one ReplicaSet differ in their
// last five characters, so each needs 4 to 5 bytes of text.
//
// Only the first textMax bytes of a longer text are kept; the text is cut
// then, and if all of these are equal the object must be read.
//
// Invariant: all keys between the node's fences, which are the separators
// around it in its ancestors, share their first base bytes. lcps[i] is how
// many bytes entry i shares with entry i-1; lcps[0] is base. The text of entry
// i begins at byte lcps[i] of its key, and at the sum of the lens before i in
// text. In a tree with keys that cannot be compared by bytes only the last
// holds, so that text is never overrun.
type front struct {
	n, base uint16
	text    []byte
	lcps    [nodeMax]uint16
	lens    [nodeMax]uint8 // of an entry's text, plus cut
}

const (
	// textMax also suits the first pod of a namespace, whose text is the rest
	// of the namespace's name and the pod's own name. Few texts are that long.
	textMax = 64
	// textMin is how much of a cut text must be left when a new entry before
	// it shares its beginning. If less is left, the key is read again.
	textMin = 8
	// cut marks a text that is not the whole rest of its key.
	cut = 1 << 7
)

// spot is where a key is, or belongs, in a node.
type spot struct {
	i   int // how many entries are smaller
	off int // where the text of entry i begins
	// prev and next are how many bytes it shares with entries i-1 and i; prev
	// is base if i is 0, next means nothing if i is the node's end.
	prev, next int
	found      bool // entry i is the key
}

// locate finds a key, given its bytes. It walks the entries, where m is how
// many bytes the key shares with the entry before, which is smaller than the
// key:
//
//   - an entry that shares more than m bytes with the one before it differs
//     from the key where that one does, and is smaller too;
//   - one that shares fewer differs from the key where it differs from the one
//     before, and is larger;
//   - if it shares exactly m, the texts are compared.
func (f *front) locate(k []byte, keyAt func(i int) Key) spot {
	m, off := int(f.base), 0
	next := byteAt(k, m)
	n := int(f.n)
	lcps, lens := f.lcps[:n], f.lens[:n]
	for i, l := range lcps {
		if int(l) < m {
			return spot{i: i, off: off, prev: m, next: int(l)}
		}
		size := int(lens[i] &^ cut)
		if int(l) == m {
			text := f.text[off : off+size]
			// Mostly the first byte decides.
			switch b := byteAt(text, 0); {
			case b > next:
				return spot{i: i, off: off, prev: m, next: m}
			case b == next:
				c, same := compareText(text, k[m:])
				if same == size && lens[i]&cut != 0 {
					c, same = compareRest(keyAt(i), k, m)
				}
				if c >= 0 {
					return spot{i: i, off: off, prev: m, next: m + same, found: c == 0}
				}
				m += same
				next = byteAt(k, m)
			}
		}
		off += size
	}
	return spot{i: n, off: off, prev: m}
}

// byteAt returns a byte; behind the end -1, which is smaller than any byte.
func byteAt(k []byte, i int) int {
	if i < len(k) {
		return int(k[i])
	}
	return -1
}

// compareText compares an entry's text with the rest of a key, and returns how
// many bytes they have in common.
func compareText(text, rest []byte) (c, same int) {
	same = commonBytes(text, rest)
	return byteAt(text, same) - byteAt(rest, same), same
}

// compareRest compares a key with the bytes of another from byte m on, and
// returns how many they have in common from there.
func compareRest(other Key, k []byte, m int) (c, same int) {
	var buf keyBuf
	a := other.appendTo(buf[:0])
	a = a[min(m, len(a)):] // it may be shorter if its object was modified
	return bytes.Compare(a, k[m:]), commonBytes(a, k[m:])
}

// clip returns the text of a key from a byte on, and its entry in lens.
func clip(k []byte, from int) ([]byte, uint8) {
	if k == nil {
		return nil, cut
	}
	text := k[min(from, len(k)):]
	if len(text) > textMax {
		return text[:textMax], textMax | cut
	}
	return text, uint8(len(text))
}

// size returns how long the text of an entry is.
func (f *front) size(i int) int { return int(f.lens[i] &^ cut) }

// offset returns where the text of an entry begins.
func (f *front) offset(i int) int {
	off := 0
	for _, l := range f.lens[:i] {
		off += int(l &^ cut)
	}
	return off
}

// enter adds an entry for a key; there must be room for one. The key's slot or
// separator must be in place already, since keyAt may be called.
func (f *front) enter(at spot, k []byte, keyAt func(i int) Key) {
	i, n := at.i, int(f.n)
	// The next entry follows this one now. If the key shares no more with it
	// than with the entry before, nothing changes for the next entry;
	// otherwise its text begins later.
	d := 0
	if i < n {
		d = max(at.next-at.prev, 0)
	}
	copy(f.lcps[i+1:n+1], f.lcps[i:n])
	copy(f.lens[i+1:n+1], f.lens[i:n])
	f.n++
	text, size := clip(k, at.prev)
	f.lcps[i], f.lens[i] = uint16(at.prev), size
	if d == 0 {
		f.splice(at.off, 0, text)
		return
	}
	drop := min(d, f.size(i+1))
	f.splice(at.off, drop, text)
	f.lcps[i+1] = uint16(at.next)
	f.lens[i+1] -= uint8(drop)
	f.refill(i+1, at.off+len(text), keyAt)
}

// refill reads an entry's key again if too little of its text is left.
func (f *front) refill(i, off int, keyAt func(i int) Key) {
	if f.lens[i]&cut != 0 && f.size(i) < textMin {
		f.setText(i, off, keyAt(i))
	}
}

func (f *front) setText(i, off int, key Key) {
	var buf keyBuf
	text, size := clip(key.appendTo(buf[:0]), int(f.lcps[i]))
	f.splice(off, f.size(i), text)
	f.lens[i] = size
}

// leave removes an entry. The next entry then differs from its new predecessor
// where the removed one did: its text is the removed one's up to where its own
// begins, then its own.
func (f *front) leave(i int) {
	n, j := int(f.n), i+1
	off, had := f.offset(i), f.size(i)
	kept := 0
	if j < n && f.lcps[j] > f.lcps[i] {
		d := int(f.lcps[j] - f.lcps[i])
		kept = min(d, had)
		size, isCut := f.size(j), f.lens[j]&cut
		switch {
		case kept < d: // the removed one's was cut before
			size, isCut, had = kept, cut, had+size
		case kept+size > textMax:
			f.splice(off+had+textMax-kept, kept+size-textMax, nil)
			size, isCut = textMax, cut
		default:
			size += kept
		}
		f.lens[j], f.lcps[j] = uint8(size)|isCut, f.lcps[i]
	}
	f.splice(off+kept, had-kept, nil)
	copy(f.lcps[i:n-1], f.lcps[j:n])
	copy(f.lens[i:n-1], f.lens[j:n])
	f.n--
}

// push adds an entry at the end. Its key shares lcp bytes with the last one.
func (f *front) push(lcp int, k []byte) {
	text, size := clip(k, lcp)
	f.lcps[f.n], f.lens[f.n] = uint16(lcp), size
	f.n++
	f.splice(len(f.text), 0, text)
}

// pushFrom adds some entries of another front at the end. The first of them
// must share as many bytes with the last entry here as with its predecessor
// there.
func (f *front) pushFrom(r *front, from, to int) {
	copy(f.lcps[f.n:], r.lcps[from:to])
	copy(f.lens[f.n:], r.lens[from:to])
	f.n += uint16(to - from)
	f.splice(len(f.text), 0, r.text[r.offset(from):r.offset(to)])
}

// pushBoth adds the entries from number from to number to of two fronts, as if
// b followed a in one.
func (f *front) pushBoth(a, b *front, from, to int) {
	n := int(a.n)
	f.pushFrom(a, min(from, n), min(to, n))
	f.pushFrom(b, max(from-n, 0), max(to-n, 0))
}

// keep drops all entries but the first n, and memory that is not needed.
func (f *front) keep(n int) {
	f.text = cloneText(f.text[:f.offset(n)])
	f.n = uint16(n)
}

// rebase sets how many bytes all keys share. Only the first entry depends on
// it.
func (f *front) rebase(base int, keyAt func(i int) Key) {
	f.base = uint16(base)
	if f.n > 0 {
		f.setFirst(base, keyAt)
	}
}

// setFirst sets how many bytes the first entry shares with what comes before
// it.
func (f *front) setFirst(lcp int, keyAt func(i int) Key) {
	d := lcp - int(f.lcps[0])
	f.lcps[0] = uint16(lcp)
	if d < 0 || d > f.size(0) {
		f.setText(0, 0, keyAt(0))
		return
	}
	f.splice(0, d, nil)
	f.lens[0] -= uint8(d)
	f.refill(0, 0, keyAt)
}

// splice replaces a part of the text.
func (f *front) splice(off, del int, ins []byte) {
	if del == 0 && len(ins) == 0 {
		return
	}
	old, n := f.text, len(f.text)-del+len(ins)
	if n > cap(old) {
		f.text = make([]byte, n, textCap(n))
		copy(f.text, old[:off])
	} else {
		f.text = old[:n]
	}
	copy(f.text[off+len(ins):], old[off+del:])
	copy(f.text[off:], ins)
}

func cloneText(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return append(make([]byte, 0, textCap(len(text))), text...)
}

// textCap rounds up to a size class of the allocator, in steps that are worth
// an allocation.
func textCap(n int) int {
	switch {
	case n <= 768:
		return (n + 63) &^ 63
	case n <= 1408:
		return (n + 127) &^ 127
	}
	return (n + 511) &^ 511
}
