package protobuf

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// codec is what gogo generates for each kind.
type codec interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func encode(t testing.TB, v reflect.Value) []byte {
	t.Helper()
	raw, err := v.Interface().(codec).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unmarshaled is what the official decoder makes of raw.
func unmarshaled(t testing.TB, typ reflect.Type, raw []byte) any {
	t.Helper()
	v := reflect.New(typ).Interface()
	if err := v.(codec).Unmarshal(raw); err != nil {
		t.Fatalf("the official decoder: %v", err)
	}
	return v
}

func compile(t testing.TB, typ reflect.Type, drop ...string) *Plan {
	t.Helper()
	drops, err := gotype.NewDrops(drop)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(typ, drops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func typeOf(typ reflect.Type) *gotype.Type {
	t, err := gotype.Of(typ)
	if err != nil {
		panic(err)
	}
	return t
}

var podType = reflect.TypeFor[corev1.Pod]()

func podBytes(template, i, round int, unique bool) []byte {
	raw, err := testpods.Large(template, i, round, unique).Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}
