package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Options configures a store. KeyFunc or RememberKeys is required.
type Options[T any] struct {
	// KeyFunc reads an object's key. An object for which it fails or panics is
	// not stored, and the write returns a *KeyError. If it is nil, objects are
	// stored under whatever key Write, Apply and Replace are given, and
	// RememberKeys must be set.
	KeyFunc KeyFunc[T]

	// RememberKeys keeps each key beside its object, 36 bytes an object in full
	// blocks, and does not read it from the object again. Then KeyFunc is called once a
	// write and may be slow. An object that is renamed after it was stored,
	// against the rules, stays under its old key.
	RememberKeys bool

	// Indexers are the initial indexes, by name. A function that fails or
	// panics for an object leaves it out of that index alone, and the write
	// returns an *IndexError.
	Indexers map[string]IndexFunc[T]

	// Equal reports whether a listed object equals the held one. If so, Replace
	// keeps the held one with its memo and reports no Updated change. If Equal
	// is nil, Replace reports one for every object that was held already. Apply
	// calls it for operations with IfChanged.
	Equal func(old, obj T) bool
}

func (o *Options[T]) validate() error {
	var errs []error
	if o.KeyFunc == nil && !o.RememberKeys {
		errs = append(errs, errors.New("store: Options.KeyFunc is missing, and RememberKeys not set"))
	}
	for name, fn := range o.Indexers {
		if fn == nil {
			errs = append(errs, fmt.Errorf("store: the function of index %q is nil", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
