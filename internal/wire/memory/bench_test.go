package memory

import (
	"reflect"
	"testing"
	"unsafe"
)

// BenchmarkCopied copies a slice of five elements, as that of a pod's conditions,
// by a Maker, and by reflect.NewAt each time.
func BenchmarkCopied(b *testing.B) {
	typ := reflect.TypeFor[[]sample]()
	list := make([]sample, 5)
	from := SliceOf(unsafe.Pointer(&list[0]), len(list))
	b.Run("maker", func(b *testing.B) {
		var m Maker
		for b.Loop() {
			m.Copied(typ, len(list), from)
		}
	})
	b.Run("reflect", func(b *testing.B) {
		held := new(struct{ to, from Slice })
		for b.Loop() {
			held.to = Slice{}
			reflect.NewAt(typ, unsafe.Pointer(&held.to)).Elem().Grow(len(list))
			held.to.Len, held.from = len(list), from
			reflect.Copy(reflect.NewAt(typ, unsafe.Pointer(&held.to)).Elem(), reflect.NewAt(typ, unsafe.Pointer(&held.from)).Elem())
		}
	})
}
