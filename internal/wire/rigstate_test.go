package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/filler"
)

// visitStates calls visit for all hidden state that can be reached through v:
// where it is, and whether it is a Quantity that has not kept its text.
func visitStates(v reflect.Value, visit func(p uintptr, quantity bool)) {
	filler.Reach(v, func(v reflect.Value) {
		switch v.Addr().Interface().(type) {
		case *resource.Quantity:
			if v.FieldByName("s").Len() == 0 {
				visit(v.Addr().Pointer(), true)
			}
		case toucher:
			visit(v.Addr().Pointer(), false)
		}
	})
}

// touch writes to all hidden state, as readers of an object do.
func touch(v reflect.Value) {
	filler.Reach(v, func(v reflect.Value) {
		switch p := v.Addr().Interface().(type) {
		case *resource.Quantity:
			_ = p.String()
		case toucher:
			p.Touch()
		}
	})
}

// dropField empties the field that a path of JSON names leads to.
func dropField(v reflect.Value, path []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			dropField(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropField(v.Index(i), path)
		}
	case reflect.Map:
		m, ok := v.Interface().(map[string]any)
		if ok && len(path) == 1 {
			delete(m, path[0])
		} else if ok {
			dropField(reflect.ValueOf(m[path[0]]), path[1:])
		}
	case reflect.Struct:
		if _, ok := v.Type().FieldByName("Object"); ok && v.NumField() == 1 {
			dropField(v.Field(0), path)
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "" && f.Anonymous:
				dropField(v.Field(i), path)
			case name != path[0]:
			case len(path) == 1:
				v.Field(i).SetZero()
			default:
				dropField(v.Field(i), path[1:])
			}
		}
	}
}

func spell(v any) []byte {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Appendf(nil, "%+v", v)
	}
	return b
}
