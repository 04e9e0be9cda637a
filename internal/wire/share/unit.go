package share

import (
	"hash/fnv"
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
)

// UnitOf returns the unit of a Go type and the format it is decoded from. variant
// has whatever else decides the outcome, dropped fields for example; it comes from
// the program, so it needs no secret.
func UnitOf(typ reflect.Type, format formats.Format, variant string) Unit {
	// A type's descriptor has one address for as long as the process lives.
	p := uint64(uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&typ))[1]))
	u := p*0x9e3779b97f4a7c15 ^ uint64(format)<<56
	if variant != "" {
		h := fnv.New64a()
		h.Write([]byte(variant))
		u ^= h.Sum64()
	}
	return Unit(u)
}
