package protobuf

import (
	"bytes"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// official decodes a whole object with its own Unmarshal.
func (p *Plan) official(raw []byte) (share.Result, error) {
	if p.whole != nil && !p.whole.fits(raw) {
		return share.Result{}, &DepthError{p.root.typ}
	}
	v := reflect.New(p.root.typ)
	if err := official.Unmarshal(raw, v.Interface().(official.Protobuf)); err != nil {
		return share.Result{}, err
	}
	p.drops.Clear(v)
	return share.Result{Object: v.UnsafePointer()}, nil
}

// foreign decodes a part of an object with its type's own Unmarshal.
func (d *decoder) foreign(m *message, dst unsafe.Pointer, b []byte) status {
	v := reflect.NewAt(m.typ, dst)
	// gogo's code begins with a composite literal.
	switch m.typ.Kind() {
	case reflect.Slice:
		v.Elem().Set(reflect.MakeSlice(m.typ, 0, 0))
	case reflect.Map:
		v.Elem().Set(reflect.MakeMap(m.typ))
	}
	// If this fails, Unmarshal of the whole object returns the error.
	if !d.unmarshal(v.Interface().(official.Protobuf), b) {
		return failed
	}
	m.drops.Clear(v)
	d.session.Allocated += len(b)
	if m.private {
		d.session.Private++
	}
	return changed
}

var fieldsV1 = reflect.TypeFor[metav1.FieldsV1]()

// sameFields reports that b, a FieldsV1's message as its own encoder writes it, has
// the bytes of f; empty ones may be nil or not. The entries of managedFields change
// in their time far more often than in their fields, which are a tenth of an
// object's bytes.
func sameFields(f *metav1.FieldsV1, b []byte) bool {
	if len(b) == 0 || b[0] != 1<<3|wireBytes {
		return false
	}
	begin, end := extent(b, 1)
	return begin < end && end == len(b) && bytes.Equal(b[begin:], rawFields(f))
}

// rawFields returns the bytes of a FieldsV1. Its field Raw is a string in some
// builds of Kubernetes 0.36 and later, which have a method for its bytes. Before,
// it is always bytes, and there is no method.
func rawFields(f *metav1.FieldsV1) []byte {
	if g, ok := any(f).(interface{ GetRawBytes() []byte }); ok {
		return g.GetRawBytes()
	}
	return reflect.ValueOf(f).Elem().FieldByName("Raw").Bytes()
}
