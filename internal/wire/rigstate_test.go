package wire

import (
	"encoding/json"
	"fmt"
	"reflect"

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

func spell(v any) []byte {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Appendf(nil, "%+v", v)
	}
	return b
}
