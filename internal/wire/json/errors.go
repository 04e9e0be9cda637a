package json

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrNotObject means that no JSON object begins where Decode was to read one.
var ErrNotObject = errors.New("json: not an object")

// TypeError is returned by Compile for a type that encoding/json would not
// decode field by field.
type TypeError struct{ Type reflect.Type }

func (e *TypeError) Error() string {
	return fmt.Sprintf("json: %v is no struct that is decoded field by field", e.Type)
}
