package structure

import (
	"math"
	"reflect"
	"slices"
)

// The nodes of the values that interfaces hold in an unstructured object.
var (
	anyNode = newNode(reflect.TypeFor[any](), opAny, "")
	mapNode = newNode(reflect.TypeFor[map[string]any](), opMapAny, "").of(anyNode)
	// listNode is a list in its box, which is shared with it.
	listNode = newNode(reflect.TypeFor[[]any](), opSlice, "boxed").of(anyNode)
)

// of sets what a node leads to.
func (n *node) of(elem *node) *node {
	n.elem = elem
	return n
}

// Tags precede the encoding of the value in an interface.
const (
	tagNil = iota
	tagString
	tagInt
	tagFloat
	tagTrue
	tagFalse
	tagMap
	tagList
	tagOther
)

// any encodes the value in an interface: one of the types that JSON is decoded to.
func (e *encoder) any(v any) {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, tagNil)
	case string:
		e.buf = append(e.buf, tagString)
		e.string(v)
		e.bytes += 16
	case int64:
		e.buf = append(e.buf, tagInt)
		e.word(uint64(v))
		e.bytes += 8
	case float64:
		e.buf = append(e.buf, tagFloat)
		e.float(v)
		e.bytes += 8
	case bool:
		tag := byte(tagFalse)
		if v {
			tag = tagTrue
		}
		e.buf = append(e.buf, tag)
	case map[string]any:
		e.buf = append(e.buf, tagMap)
		e.mapAny(v)
	case []any:
		e.buf = append(e.buf, tagList)
		e.list(v)
	default:
		e.buf = append(e.buf, tagOther)
		e.alone++
	}
}

// mapAny encodes a map of interfaces, whose values may be units.
func (e *encoder) mapAny(m map[string]any) {
	if e.empty(m == nil, len(m)) {
		return
	}
	at, bytes, alone := e.begin(mapNode.mapBytes(len(m)))
	e.length(len(m))
	first := len(e.keys)
	for k := range m {
		e.keys = append(e.keys, k)
	}
	keys := e.keys[first:len(e.keys):len(e.keys)]
	slices.Sort(keys)
	for _, k := range keys {
		e.string(k)
		e.any(m[k])
	}
	e.end(at, bytes, alone)
}

func (e *encoder) list(l []any) {
	if e.empty(l == nil, len(l)) {
		return
	}
	at, bytes, alone := e.begin(24 + 16*len(l))
	e.length(len(l))
	for _, v := range l {
		e.any(v)
	}
	e.end(at, bytes, alone)
}

// any is equal for values in interfaces.
func (c *comparison) any(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b && math.Float64bits(a) == math.Float64bits(b)
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(c, a, b, c.any)
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && c.enter() && slices.EqualFunc(a, b, c.any) && c.leave()
	}
	return false
}

// equalMaps compares maps, and distinguishes nil from empty.
func equalMaps[V any](c *comparison, a, b map[string]V, equal func(a, b V) bool) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if sameMap(a, b) {
		return true
	}
	if !c.enter() {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !equal(v, w) {
			return false
		}
	}
	return c.leave()
}
