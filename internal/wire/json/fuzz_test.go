package json

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// FuzzDecode decodes two versions of an object, and the first once more, of a
// kind that which selects.
func FuzzDecode(f *testing.F) {
	kinds := compileKinds()
	f.Fuzz(func(t *testing.T, which uint16, one, two []byte) {
		k := kinds[int(which)%len(kinds)]
		s := share.NewSession(share.NewTable(0))
		var last Result
		for _, raw := range [][]byte{one, two, one, one} {
			if r, ok := k.plan.mustAgree(t, s, raw, last.Object, last.Memo); ok {
				last = r
			}
		}
		if want, _, _, err := k.plan.reference(one); err == nil && last.Memo != nil {
			if r, ok := k.plan.mustAgree(t, s, one, last.Object, last.Memo); ok && !r.Same && !k.plan.lazyInside(r) {
				t.Fatalf("%v: the same bytes are not the same object: %q, %s", k.gvk, one, spell(want))
			}
		}
	})
}
