package json

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
)

// ErrNotObject means that no JSON object begins where Decode was to read one.
var ErrNotObject = errors.New("json: not an object")

// TypeError is returned by Compile for a type that encoding/json would not
// decode field by field, or that leads to too many others.
type TypeError struct {
	Type reflect.Type
	// Large: it leads to too many types and fields.
	Large bool
}

func (e *TypeError) Error() string {
	if e.Large {
		return fmt.Sprintf("json: %v leads to more than %d types and fields", e.Type, fields.MaxParts)
	}
	return fmt.Sprintf("json: %v is no struct that is decoded field by field", e.Type)
}
