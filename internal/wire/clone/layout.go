package clone

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// need is how many elements of one array a copy needs.
type need struct{ array, n int }

// layout is a struct type that has the arrays of one copy, so that one allocation makes
// all of them.
type layout struct {
	needs   []need
	typ     reflect.Type
	offsets []uintptr
}

const (
	// maxLayouts is the most layouts of a plan, since reflect keeps a type for ever. Copies
	// with other needs have an allocation for each array.
	maxLayouts = 64
	// maxLayoutSize is the largest layout. Larger copies have an allocation for each array,
	// so that a reference to a part does not keep all of their memory.
	maxLayoutSize = 32 << 10
)

// layouts are those of a plan. A layout is made for needs that occur twice among the last
// hundred or so without a layout.
type layouts struct {
	seed maphash.Seed
	// known has the layouts by hash of the needs. It is replaced as a whole.
	known atomic.Pointer[map[uint64]*layout]

	mu sync.Mutex
	// once has hashes of needs that occurred once; guarded by mu.
	once [128]uint64
}

// rounded returns n, or up to a quarter more, so that needs repeat.
func rounded(n int) int {
	if n <= 4 {
		return n
	}
	step := 1 << (bits.Len(uint(n)) - 3)
	return (n + step - 1) &^ (step - 1)
}

// find returns the layout for needs, or nil.
func (l *layouts) find(needs []need, types []reflect.Type) *layout {
	hash := maphash.Bytes(l.seed, memory.Bytes(unsafe.Pointer(&needs[0]), uintptr(len(needs))*unsafe.Sizeof(needs[0])))
	if known := l.known.Load(); known != nil {
		if found := (*known)[hash]; found != nil && slices.Equal(found.needs, needs) {
			return found
		}
		if len(*known) == maxLayouts {
			return nil
		}
	}
	return l.learn(hash, needs, types)
}

// learn makes a layout for needs that occurred before.
func (l *layouts) learn(hash uint64, needs []need, types []reflect.Type) *layout {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := &l.once[hash%uint64(len(l.once))]; *at != hash {
		*at = hash
		return nil
	}
	more := map[uint64]*layout{}
	if known := l.known.Load(); known != nil {
		maps.Copy(more, *known)
	}
	if had := more[hash]; had != nil && slices.Equal(had.needs, needs) {
		return had
	} else if had != nil || len(more) == maxLayouts {
		return nil
	}
	made := newLayout(needs, types)
	if made != nil {
		more[hash] = made
		l.known.Store(&more)
	}
	return made
}

// newLayout returns nil if the copy is too large.
func newLayout(needs []need, types []reflect.Type) *layout {
	var size uintptr
	for _, n := range needs {
		size += uintptr(n.n) * types[n.array].Size()
	}
	if size > maxLayoutSize {
		return nil
	}
	fields := make([]reflect.StructField, len(needs))
	for i, n := range needs {
		fields[i] = reflect.StructField{Name: fmt.Sprint("A", i), Type: reflect.ArrayOf(n.n, types[n.array])}
	}
	l := &layout{needs: slices.Clone(needs), typ: reflect.StructOf(fields), offsets: make([]uintptr, len(needs))}
	for i := range l.offsets {
		l.offsets[i] = l.typ.Field(i).Offset
	}
	return l
}
