package structure

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// mapStrings returns m, or an equal map in which some strings are those that other
// objects have.
func (x *Sharer) mapStrings(m map[string]string) unsafe.Pointer {
	var out map[string]string
	for k, v := range m {
		key, value := x.known(k), x.known(v)
		if out == nil {
			if unsafe.StringData(key) == unsafe.StringData(k) && unsafe.StringData(value) == unsafe.StringData(v) {
				continue
			}
			// The entries before this one do not change.
			out = make(map[string]string, len(m))
			for k, v := range m {
				out[x.known(k)] = x.known(v)
			}
			break
		}
	}
	if out == nil {
		out = m
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&out))
}

// known returns the string equal to s that other objects have, or s.
func (x *Sharer) known(s string) string {
	if k := x.session.Table.Known(s); k != nil {
		return *k
	}
	return s
}

// mapAny exchanges the values in a map of interfaces. Its keys, in order, begin at
// first.
func (x *Sharer) mapAny(p, lastp unsafe.Pointer, first int) unsafe.Pointer {
	m := mapAt[any](p)
	var last map[string]any
	if lastp != nil {
		last = mapAt[any](lastp)
	}
	keys := x.enc.keys[first : first+len(m)]
	mine, slots := len(x.found), len(x.slots)
	for i, k := range keys {
		// Values in a map have no address. pair stays valid if x.any grows slots.
		x.slots = append(x.slots, m[k], nil)
		pair := x.slots[len(x.slots)-2:]
		var q *any
		if v, ok := last[k]; ok {
			pair[1] = v
			q = &pair[1]
		}
		x.any(&pair[0], q, uintptr(i))
	}
	changed := len(x.found) > mine
	for i, k := range keys {
		if known := x.known(k); unsafe.StringData(known) != unsafe.StringData(k) {
			keys[i], changed = known, true
		}
	}
	out := m
	if changed {
		out = make(map[string]any, len(m))
		next := mine
		for i, k := range keys {
			v := x.slots[slots+2*i]
			if next < len(x.found) && x.found[next].at == uintptr(i) {
				v = x.found[next].any
				next++
			}
			out[k] = v
		}
	}
	x.found, x.slots = x.found[:mine], x.slots[:slots]
	return *(*unsafe.Pointer)(unsafe.Pointer(&out))
}

// any exchanges the value in an interface.
func (x *Sharer) any(p, last *any, at uintptr) {
	var n *node
	var from, was unsafe.Pointer
	switch v := (*p).(type) {
	case string:
		if v == "" {
			return
		}
		if last != nil && *last == *p {
			x.found = append(x.found, replacement{at: at, op: opAny, any: *last})
		} else if k := x.session.Table.Known(v); k != nil && unsafe.Pointer(k) != data(p) {
			x.found = append(x.found, replacement{at: at, op: opAny, any: memory.WithData(*p, unsafe.Pointer(k))})
		}
		return
	case map[string]any:
		if len(v) == 0 {
			return
		}
		n = mapNode
		from = unsafe.Pointer(&(*memory.Interface)(unsafe.Pointer(p)).Data)
		if last != nil {
			if _, ok := (*last).(map[string]any); ok {
				was = unsafe.Pointer(&(*memory.Interface)(unsafe.Pointer(last)).Data)
			}
		}
	case []any:
		if len(v) == 0 {
			return
		}
		n = listNode
		from = data(p)
		if last != nil {
			if _, ok := (*last).([]any); ok {
				was = data(last)
			}
		}
	default:
		return
	}
	if was != nil && x.equal(n, from, was) {
		if data(p) != data(last) {
			x.found = append(x.found, replacement{at: at, op: opAny, any: *last})
		}
		x.next = x.enc.segs[x.next].next
		return
	}
	if v := x.unit(n, from, was); v.Ptr != data(p) {
		x.found = append(x.found, replacement{at: at, op: opAny, any: memory.WithData(*p, v.Ptr)})
	}
}
