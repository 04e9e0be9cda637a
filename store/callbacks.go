package store

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/kinglet-go/kinglet/internal/errtype"
)

// The writer calls every user function through this file. A panic becomes an
// error like any other. It leaves no version half changed, since all calls
// are made before the first change of an operation.

func catch(err *error) {
	if r := recover(); r != nil {
		*err = &PanicError{Value: r, Stack: debug.Stack()}
	} else if *err != nil {
		*err = errtype.Sound(*err)
	}
}

// KeyOf returns an object's key. The error is a *KeyError, also if Options.KeyFunc panics.
func (s *Store[T]) KeyOf(obj T) (Key, error) {
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

// describe names an object that has no key: its type, and its name if it has
// one.
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
// duplicates; none if the function fails, which is recorded in errs.
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

// normal sorts values and drops duplicates. It does not change the function's
// slice.
func normal(values []string) []string {
	if len(values) < 2 {
		return values
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// inScope reports whether a key is in the scope. If the scope's function
// panics, the key counts as outside, and is not touched.
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

// equal calls Options.Equal; if that panics, the objects count as different.
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

// identity returns a function that reports whether two Ts are the same
// pointer, or nil if T is neither a pointer nor an interface.
func identity[T any]() func(a, b T) bool {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer:
		return func(a, b T) bool { return any(a) == any(b) }
	case reflect.Interface:
		return func(a, b T) bool {
			// Comparing interfaces panics if their dynamic type is not
			// comparable.
			t := reflect.TypeOf(any(a))
			return t != nil && t.Kind() == reflect.Pointer && any(a) == any(b)
		}
	}
	return nil
}
