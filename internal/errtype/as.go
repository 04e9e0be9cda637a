// Package errtype has errors.AsType of Go 1.26, for programs on Go 1.25.
package errtype

import "errors"

// As returns the first error in err's tree that is an E.
func As[E error](err error) (E, bool) {
	var e E
	ok := errors.As(err, &e)
	return e, ok
}
