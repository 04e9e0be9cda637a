package official

import (
	"errors"
	"fmt"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// PanicError is a panic of a type's own decoder.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("decoding panicked: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// JSON decodes raw into what v points to. Like Unmarshal and CBOR, it returns a
// *scan.ExponentError if it would take practically forever to compute a Quantity.
func JSON(raw []byte, v any) (err error) {
	defer recovered(&err)
	return jsonSyntax.unmarshal(raw, v)
}

// Protobuf is what gogo generates.
type Protobuf interface{ Unmarshal([]byte) error }

// Unmarshal decodes raw into v.
func Unmarshal(raw []byte, v Protobuf) (err error) {
	defer recovered(&err)
	return protobufSyntax.unmarshal(raw, v)
}

// CBOR decodes raw into obj. Fields that obj does not have are ignored, and
// RawExtension and FieldsV1 hold JSON, as after every decoder of client-go.
func CBOR(raw []byte, obj runtime.Object) (err error) {
	defer recovered(&err)
	return cborSyntax.unmarshal(raw, obj)
}

func decodeCBOR(raw []byte, v any) error {
	obj := v.(runtime.Object)
	s := only{obj}
	_, _, err := cbor.NewSerializer(s, s).Decode(raw, nil, obj)
	if runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
		// The error's text has the whole object in it, which may be a Secret.
		return errUnnamed
	}
	return err
}

var errUnnamed = errors.New("its kind and apiVersion are not those of an object")

// UntypedCBOR decodes raw into the maps of an unstructured object.
func UntypedCBOR(raw []byte) (object map[string]any, err error) {
	defer recovered(&err)
	err = direct.Unmarshal(raw, &object)
	return object, err
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &PanicError{Value: p, Stack: debug.Stack()}
	}
}

// only is a scheme in which every kind is that of one object: the kind is checked
// elsewhere.
type only struct{ obj runtime.Object }

// unnamed is the kind of an object that does not have one in its bytes.
var unnamed = schema.GroupVersionKind{Version: "v1", Kind: "Unnamed"}

func (o only) New(schema.GroupVersionKind) (runtime.Object, error) { return o.obj, nil }
func (o only) Recognizes(schema.GroupVersionKind) bool             { return true }

func (o only) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{unnamed}, false, nil
}
