package reflector

import (
	"strconv"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// These functions implement mutations of this package; see internal/mutant.
// Only builds with the tag mutants call them; the linker removes them from all
// others.

// skipAhead makes the watch begin at a version beyond the store's.
func (d *driver[T]) skipAhead() {
	if n, err := strconv.ParseInt(d.now.Request.Version, 10, 64); err == nil {
		d.now.Request.Version = strconv.FormatInt(n+3, 10)
	}
}

// pretend returns the store's version for a list that is older than the store.
func (d *driver[T]) pretend(version string) string {
	if order, ok := resourceversion.Compare(version, d.machine.Version); ok && order < 0 {
		return d.machine.Version
	}
	return version
}

// comesLate reports whether the version of a watch event is not above the
// previous one.
func (d *driver[T]) comesLate(in machine.Input) bool {
	order, ok := resourceversion.Compare(in.Version, d.machine.Version)
	return ok && order <= 0 && in.Event != machine.Bookmark && d.machine.Phase == machine.Watching
}
