// Package errtype has errors.AsType of Go 1.26, for programs on Go 1.25, and Sound.
package errtype

import (
	"errors"
	"fmt"
	"io"
	"net/url"
)

// As returns the first error in err's tree that is an E.
func As[E error](err error) (E, bool) {
	var e E
	ok := errors.As(err, &e)
	return e, ok
}

// Sound returns err, or, if its methods panic, as those of a nil pointer in an error do, an
// error in its place.
func Sound(err error) (sound error) {
	defer func() {
		if v := recover(); v != nil {
			sound = Unsound(err, v)
		}
	}()
	if err != nil {
		_ = err.Error()
		_ = errors.Is(err, io.EOF)
		_, _ = As[*url.Error](err)
	}
	return err
}

// Unsound returns an error in the place of err, of which a method panicked with v.
func Unsound(err error, v any) error {
	return fmt.Errorf("an error that cannot be read, a %T: %v", err, v)
}
