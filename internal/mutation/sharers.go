package mutation

import "reflect"

// reachesAlong reports whether v reaches m by the steps that led there in another
// object. Its cost is that of the steps.
func reachesAlong(v reflect.Value, steps []step, m memory) bool {
	for _, s := range steps[:m.depth] {
		switch s.kind {
		case intoField:
			v = v.Field(s.i)
		case intoElement:
			if v.Len() <= s.i {
				return false
			}
			v = v.Index(s.i)
		case intoEntry:
			v = v.MapIndex(s.key)
			if !v.IsValid() {
				return false
			}
		case intoPointer, intoInterface:
			if v.IsNil() {
				return false
			}
			v = v.Elem()
		}
		if v.Kind() == reflect.Invalid {
			return false
		}
	}
	if v.Type() != m.typ {
		return false
	}
	if v.Kind() == reflect.Map && v.UnsafePointer() == m.ptr {
		return true
	}
	return v.CanAddr() && v.Addr().UnsafePointer() == m.ptr
}

// search determines whether values reach a piece of memory by any path. It follows
// only fields whose type can lead there, and everything in an interface.
type search struct {
	memory
	// at is ptr as a number.
	at uintptr
	// leads is true for types that can lead there.
	leads  map[reflect.Type]bool
	fields map[reflect.Type][]int
}

func newSearch(m memory) *search {
	return &search{memory: m, at: reflect.ValueOf(m.ptr).Pointer(), leads: map[reflect.Type]bool{}, fields: map[reflect.Type][]int{}}
}

// maxSearchDepth is far beyond the depth of real objects; it ends a search in a cycle.
const maxSearchDepth = 100

// find reports whether v reaches the memory.
func (s *search) find(v reflect.Value, depth int) bool {
	if depth == maxSearchDepth || !s.mayLead(v.Type()) {
		return false
	}
	t := v.Type()
	switch v.Kind() {
	case reflect.Struct:
		for _, i := range s.fields[t] {
			if s.find(v.Field(i), depth+1) {
				return true
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return false
		}
		return v.UnsafePointer() == s.ptr && t.Elem() == s.typ || s.find(v.Elem(), depth+1)
	case reflect.Slice:
		if t.Elem() == s.typ && v.Len() > 0 {
			if s.at-v.Pointer() < uintptr(v.Len())*t.Elem().Size() {
				return true
			}
		}
		return s.findElement(v, depth)
	case reflect.Array:
		return s.findElement(v, depth)
	case reflect.Map:
		if v.UnsafePointer() == s.ptr && t == s.typ {
			return true
		}
		return s.findEntry(v, depth)
	case reflect.Interface:
		return !v.IsNil() && s.find(v.Elem(), depth+1)
	}
	return false
}

func (s *search) findElement(v reflect.Value, depth int) bool {
	if !s.mayLead(v.Type().Elem()) {
		return false
	}
	for i := range v.Len() {
		if s.find(v.Index(i), depth+1) {
			return true
		}
	}
	return false
}

func (s *search) findEntry(v reflect.Value, depth int) bool {
	if !s.mayLead(v.Type().Elem()) {
		return false
	}
	for e := v.MapRange(); e.Next(); {
		if s.find(e.Value(), depth+1) {
			return true
		}
	}
	return false
}

// mayLead reports whether a value of the type can reach the memory.
func (s *search) mayLead(t reflect.Type) bool {
	lead, known := s.leads[t]
	if !known {
		s.learn(t)
		lead = s.leads[t]
	}
	return lead
}

// learn determines leads for t and all types inside it. Types may contain each other,
// so leads is propagated from the inside outwards until nothing is added.
func (s *search) learn(t reflect.Type) {
	var all []reflect.Type
	var collect func(reflect.Type)
	collect = func(t reflect.Type) {
		if _, ok := s.leads[t]; ok {
			return
		}
		s.leads[t] = s.ends(t)
		all = append(all, t)
		for _, u := range inside(t) {
			collect(u)
		}
	}
	collect(t)
	for more := true; more; {
		more = false
		for _, t := range all {
			if s.leads[t] {
				continue
			}
			for _, u := range inside(t) {
				if s.leads[u] {
					s.leads[t], more = true, true
					break
				}
			}
		}
	}
	for _, t := range all {
		if t.Kind() != reflect.Struct {
			continue
		}
		for i := range t.NumField() {
			if s.leads[t.Field(i).Type] {
				s.fields[t] = append(s.fields[t], i)
			}
		}
	}
}

// ends reports whether the memory can be directly behind a value of the type.
func (s *search) ends(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true // it may hold any value
	case reflect.Pointer, reflect.Slice:
		return t.Elem() == s.typ
	case reflect.Map:
		return t == s.typ
	}
	return false
}

// inside returns the types that a value of type t leads to.
func inside(t reflect.Type) []reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return []reflect.Type{t.Elem()}
	case reflect.Struct:
		types := make([]reflect.Type, t.NumField())
		for i := range types {
			types[i] = t.Field(i).Type
		}
		return types
	}
	return nil
}

// identity returns the address of a pointer or map, by which two values are the same
// object; nil for a value without identity.
func identity(v reflect.Value) address {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map) && !v.IsNil() {
		return v.UnsafePointer()
	}
	return nil
}
