package store

import "iter"

// Span is a range of keys in key order. The zero Span is all keys.
type Span struct {
	// From is the first key of the span, or with After the last one before it. Nil
	// means from the first key on.
	From  *Key
	After bool
	// To is the first key behind the span. Nil means to the last key.
	To *Key
}

// PrefixSpan returns the span of what Prefix iterates over.
func PrefixSpan(p Key) Span {
	return Span{From: &p, To: p.afterPrefix()}
}

// NamespaceSpan returns the span of the keys of one namespace.
func NamespaceSpan(namespace string) Span {
	return Span{From: &Key{Namespace: namespace}, To: &Key{Namespace: namespace + "\x00"}}
}

// Has reports whether a key is in the span.
func (s Span) Has(k Key) bool {
	if s.From != nil {
		if c := k.Compare(*s.From); c < 0 || c == 0 && s.After {
			return false
		}
	}
	return s.To == nil || k.Compare(*s.To) < 0
}

// Span iterates in key order over the objects whose keys are in a span. It
// begins with a search of the tree, and visits nothing outside.
func (v *Snapshot[T]) Span(s Span) iter.Seq[T] {
	return func(yield func(T) bool) {
		v.spanSlots(&s, func(slots []uint32) bool { return v.visit(slots, yield) })
	}
}

// SpanKeys iterates over the keys that are in a span, in order, as Span does.
func (v *Snapshot[T]) SpanKeys(s Span) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		v.spanSlots(&s, func(slots []uint32) bool { return v.visitKeys(slots, yield) })
	}
}

// Prefix iterates in key order over the objects of one namespace whose
// name starts with p.Name; over all objects if both Namespace and Name are empty.
// It visits only these.
func (v *Snapshot[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) {
		s := PrefixSpan(p)
		v.spanSlots(&s, func(slots []uint32) bool { return v.visit(slots, yield) })
	}
}

// KeysFrom iterates over the keys that are not less than k, in order. It begins
// with a search of the tree, and visits nothing before k.
func (v *Snapshot[T]) KeysFrom(k Key) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		s := Span{From: &k}
		v.spanSlots(&s, func(slots []uint32) bool { return v.visitKeys(slots, yield) })
	}
}

// afterPrefix returns the smallest key behind all that start with p; nil if there
// is none.
func (p Key) afterPrefix() *Key {
	if p == (Key{}) {
		return nil
	}
	for i := len(p.Name) - 1; i >= 0; i-- {
		if c := p.Name[i]; c < 0xff {
			return &Key{Namespace: p.Namespace, Name: p.Name[:i] + string([]byte{c + 1})}
		}
	}
	// The string that follows s directly is s+"\x00".
	return &Key{Namespace: p.Namespace + "\x00"}
}

// bounds are the ends of a span as the tree looks for them; nil is open.
type bounds struct {
	lo, hi *target
	// after: lo itself is outside.
	after bool
}

// spanSlots visits the slots of a span, some at a time.
func (v *Snapshot[T]) spanSlots(s *Span, visit func([]uint32) bool) {
	var b bounds
	var lo, hi target
	var loBytes, hiBytes keyBuf
	if s.From != nil {
		lo = v.aim(s.From, s.From.odd(), &loBytes)
		b.lo, b.after = &lo, s.After
	}
	if s.To != nil {
		hi = v.aim(s.To, s.To.odd(), &hiBytes)
		b.hi = &hi
	}
	v.walkSpan(v.root, b, visit)
}

// walkSpan visits the slots below n that are within b.
func (v *Snapshot[T]) walkSpan(n *node, b bounds, visit func([]uint32) bool) bool {
	if n == nil {
		return true
	}
	from, to := 0, int(n.n)
	if n.in == nil {
		if b.lo != nil {
			at := v.locate(n, b.lo)
			from = at.i
			if at.found && b.after {
				from++
			}
		}
		if b.hi != nil {
			to = v.locate(n, b.hi).i
		}
		return from >= to || visit(n.slots[from:to])
	}
	if b.lo != nil {
		from = v.kid(n, b.lo)
	}
	if b.hi != nil {
		to = v.kid(n, b.hi)
	}
	for i := from; i <= to; i++ {
		kid := b
		if i > from {
			kid.lo = nil
		}
		if i < to {
			kid.hi = nil
		}
		if !v.walkSpan(n.in.kids[i], kid, visit) {
			return false
		}
	}
	return true
}

// visitKeys yields the keys of the objects in some slots.
func (v *Snapshot[T]) visitKeys(slots []uint32, yield func(Key) bool) bool {
	for _, slot := range slots {
		if !yield(v.keyOf(slot)) {
			return false
		}
	}
	return true
}
