package source

import (
	"testing"

	"github.com/kinglet-go/kinglet/source/internal/fastpath"
)

// needsFastPath skips a test of what a build with the tag kinglet_safe does not
// promise: to share, and to refuse what apimachinery's decoders do not.
func needsFastPath(t *testing.T) {
	t.Helper()
	if !fastpath.Linked {
		t.Skip("the fast path is not part of this build")
	}
}
