// Package official calls apimachinery's own decoders, and with them those of the
// types. It turns their panics into errors. kinglet's decoders must return the same
// results.
package official

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
)

// PanicError is a panic, as of a type's own decoder.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// JSON decodes a copy of raw into what v points to: a type's own UnmarshalJSON must not keep
// its argument, and some do. Like Unmarshal, it returns a *scan.ExponentError if it would take
// practically forever to compute a Quantity.
func JSON(raw []byte, v any) (err error) {
	defer recovered(&err)
	return jsonSyntax.unmarshal(bytes.Clone(raw), v)
}

// Protobuf is what gogo generates.
type Protobuf interface{ Unmarshal([]byte) error }

// Unmarshal decodes raw into v. What gogo generates copies all that it keeps.
func Unmarshal(raw []byte, v Protobuf) (err error) {
	defer recovered(&err)
	return protobufSyntax.unmarshal(raw, v)
}

// Copy calls DeepCopyObject, which panics for an unstructured object with an int. It may be the
// method of a type that obj's embeds, whose copy is an error.
func Copy(obj runtime.Object) (c runtime.Object, err error) {
	defer recovered(&err)
	if c = obj.DeepCopyObject(); reflect.TypeOf(c) != reflect.TypeOf(obj) {
		return nil, fmt.Errorf("DeepCopyObject of a %T returned a %T", obj, c)
	}
	return c, nil
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}
