package wire

import (
	"testing"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// bundle is what a transform may make of an object.
type bundle struct {
	Name string
	CA   []byte
}

const certificate = "a constant is read-only data, and bytes that a transform takes from it without a copy are not in Go's heap"

// TestBytesThatATransformTookFromAConstantAreShared, and end no program once they fade:
// the runtime makes no weak pointer to them.
func TestBytesThatATransformTookFromAConstantAreShared(t *testing.T) {
	table := share.NewTable(0)
	s := NewStructure[*bundle](table)
	var last *bundle
	for _, name := range []string{"a", "b", "c"} {
		last = s.Share(&bundle{name, unsafe.Slice(unsafe.StringData(certificate), len(certificate))}, Last[*bundle]{})
	}
	if n := table.Stats().Entries; n == 0 {
		t.Fatal("nothing was shared, so nothing is tested")
	}
	for range 3 {
		table.Fade()
	}
	if n := table.Stats().Entries; n != 0 {
		t.Errorf("%d entries after three passes without a lookup", n)
	}
	if string(last.CA) != certificate {
		t.Errorf("the object has %q", last.CA)
	}
}
