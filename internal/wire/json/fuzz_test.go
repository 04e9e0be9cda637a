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
		var last share.Result
		for _, raw := range [][]byte{one, two, two, two, one, one} {
			// An object that another plan made, and one with another's memo.
			if v, _, _, err := k.plan.reference(one); err == nil {
				k.plan.mustAgree(t, s, raw, share.VersionOf(v.UnsafePointer(), nil))
				k.plan.mustAgree(t, s, raw, share.VersionOf(v.UnsafePointer(), last.Memo))
			}
			if r, ok := k.plan.mustAgree(t, s, raw, last.Version()); ok {
				last = r
			}
		}
		if want, _, _, err := k.plan.reference(one); err == nil && last.Memo != nil {
			if r, ok := k.plan.mustAgree(t, s, one, last.Version()); ok && !r.Same && !k.plan.lazyInside(r) {
				t.Fatalf("%v: the same bytes are not the same object: %q, %s", k.gvk, one, spell(want))
			}
		}
	})
}
