package store

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
)

// Every call of a user's function by the writer goes through here: a panic is
// an error like any other, and finds no version half changed, since all calls
// are made before the first change of an operation.

func catch(err *error) {
	if r := recover(); r != nil {
		*err = &PanicError{Value: r, Stack: debug.Stack()}
	}
}

// keyOf returns an object's key; the error is a *KeyError.
func (s *Store[T]) keyOf(obj T) (Key, error) {
	key, err := s.callKey(obj)
	if err != nil {
		return Key{}, &KeyError{Object: describe(obj), Err: err}
	}
	return key, nil
}

func (s *Store[T]) callKey(obj T) (key Key, err error) {
	if s.opts.KeyFunc == nil {
		return Key{}, ErrNoKeyFunc
	}
	defer catch(&err)
	return s.opts.KeyFunc(obj)
}

// describe names an object that has no key: its type, and its name if it can
// say one.
func describe(obj any) (s string) {
	s = fmt.Sprintf("a %T", obj)
	defer func() { _ = recover() }()
	if o, ok := obj.(interface {
		GetNamespace() string
		GetName() string
	}); ok {
		s += fmt.Sprintf(" (%s)", Key{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return s
}

// valuesOf returns an object's values in an index, sorted and without
// duplicates; none if the function fails, which is noted.
func (s *Store[T]) valuesOf(x *indexer[T], key Key, obj T) []string {
	values, err := callIndex(x.fn, obj)
	if err != nil {
		s.errs = append(s.errs, &IndexError{Index: x.name, Key: key, Err: err})
		return nil
	}
	return normal(values)
}

func callIndex[T any](fn IndexFunc[T], obj T) (values []string, err error) {
	defer catch(&err)
	return fn(obj)
}

// normal sorts values and drops duplicates. The function's slice stays as it
// is.
func normal(values []string) []string {
	if len(values) < 2 {
		return values
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// inScope reports whether a key is in the scope; if the scope's function
// panics it is not, and stays untouched.
func (s *Store[T]) inScope(scope *Scope, key Key) bool {
	if !scope.Span.Has(key) {
		return false
	}
	if scope.Contains == nil {
		return true
	}
	in, err := callContains(scope.Contains, key)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("scope %q, asked for %s: %w", scope.ID, key, err))
	}
	return in
}

func callContains(fn func(Key) bool, key Key) (in bool, err error) {
	defer catch(&err)
	return fn(key), nil
}

// equal asks Options.Equal; if that panics the objects differ.
func (s *Store[T]) equal(key Key, old, obj T) bool {
	same, err := callEqual(s.opts.Equal, old, obj)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("Options.Equal of %s: %w", key, err))
	}
	return same
}

func callEqual[T any](fn func(a, b T) bool, a, b T) (same bool, err error) {
	defer catch(&err)
	return fn(a, b), nil
}

// identity returns how to tell that two Ts are one and the same pointer, or
// nil if T has no such notion.
func identity[T any]() func(a, b T) bool {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer:
		return func(a, b T) bool { return any(a) == any(b) }
	case reflect.Interface:
		return func(a, b T) bool {
			// Comparing interfaces panics if what is inside is no pointer and
			// not comparable.
			t := reflect.TypeOf(any(a))
			return t != nil && t.Kind() == reflect.Pointer && any(a) == any(b)
		}
	}
	return nil
}
