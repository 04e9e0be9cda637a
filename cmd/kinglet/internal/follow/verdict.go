package follow

import (
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// unreachablePatience is how long a server that was never reached is tried
// before giving up, if there is nothing else to wait for.
const unreachablePatience = 5 * time.Second

// prospect says what to expect of one collection.
type prospect struct {
	synced  bool // at any time
	failing bool
	kind    trouble.Kind
	since   time.Duration // of the first failure that nothing good followed
}

// hopeless reports whether there is no point in going on: no collection ever worked, and
// none will soon. While one works or has worked, the others are retried.
func hopeless(prospects []prospect) bool {
	for _, p := range prospects {
		if p.synced || !p.failing {
			return false
		}
		if !p.kind.Lasting() && (p.kind != trouble.Unreachable || p.since < unreachablePatience) {
			return false
		}
	}
	return true
}
