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

// PathError says that a field to drop does not exist.
type PathError struct {
	Type reflect.Type
	// Path is what was asked for.
	Path string
	// Reason says which part of it leads nowhere.
	Reason string
	// Nearest is the path that exists and is most like it, or empty.
	Nearest string
}

func (e *PathError) Error() string {
	s := fmt.Sprintf("cannot drop %q from %v: %s", e.Path, e.Type, e.Reason)
	if e.Nearest != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return s
}

// DepthError says that a message nests deeper than MaxDepth.
type DepthError struct{ Type reflect.Type }

func (e *DepthError) Error() string {
	return fmt.Sprintf("protobuf: %v nests deeper than %d messages", e.Type, MaxDepth)
}

// PanicError is a panic of the type's own Unmarshal.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("protobuf: Unmarshal panicked: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
