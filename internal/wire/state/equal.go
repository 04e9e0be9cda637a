package state

import (
	"reflect"
	"sync"
)

// maxVisible bounds how many parts Equal compares, as maxSteps does.
const maxVisible = 1 << 26

// Equal is Identical without the state in which methods that only read keep what they
// have computed: the text of a Quantity, the sizes of a protobuf message, locks. It does
// not read that state, so it may run while others read the values.
func Equal(a, b any) bool {
	c := comparison{steps: maxVisible, visible: true}
	return c.identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

// skipped has the result of skippedFields for each reflect.Type that was compared.
var skipped sync.Map

// skippedFields returns which fields of a struct type are hidden state; nil if none is.
func skippedFields(t reflect.Type) []bool {
	if known, ok := skipped.Load(t); ok {
		return known.([]bool)
	}
	var fields []bool
	for i := range t.NumField() {
		if skips(t, t.Field(i)) {
			if fields == nil {
				fields = make([]bool, t.NumField())
			}
			fields[i] = true
		}
	}
	skipped.Store(t, fields)
	return fields
}

func skips(t reflect.Type, f reflect.StructField) bool {
	switch f.Type.PkgPath() {
	case "sync", "sync/atomic", "google.golang.org/protobuf/internal/impl":
		return true
	}
	switch f.Name {
	case "s":
		return t == quantity
	case "sizeCache", "XXX_sizecache":
		return f.Type.Kind() == reflect.Int32
	}
	return f.Name == "_"
}
