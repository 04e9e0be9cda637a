package protobuf

import (
	"fmt"
	"reflect"
)

// TypeError says why there is no plan for a type.
type TypeError struct {
	Type   reflect.Type
	Reason string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("no protobuf plan for %v: %s", e.Type, e.Reason)
}

// DepthError says that a message nests deeper than MaxDepth.
type DepthError struct{ Type reflect.Type }

func (e *DepthError) Error() string {
	return fmt.Sprintf("protobuf: %v nests deeper than %d messages", e.Type, MaxDepth)
}
