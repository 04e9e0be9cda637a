package reflector

import (
	"strconv"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// What mutations of this package do; see internal/mutant. Nothing calls them
// but in a build with the tag mutants, and the linker leaves them out.

// skipAhead has the watch begin later than the store is.
func (d *driver[T]) skipAhead() {
	if n, err := strconv.ParseInt(d.now.Request.Version, 10, 64); err == nil {
		d.now.Request.Version = strconv.FormatInt(n+3, 10)
	}
}

// pretend makes the version of a list that is older than the store that of the
// store.
func (d *driver[T]) pretend(version string) string {
	if order, ok := resourceversion.Compare(version, d.machine.Version); ok && order < 0 {
		return d.machine.Version
	}
	return version
}

// comesLate reports whether an event of a watch has a version that is not above
// the one before.
func (d *driver[T]) comesLate(in machine.Input) bool {
	order, ok := resourceversion.Compare(in.Version, d.machine.Version)
	return ok && order <= 0 && in.Event != machine.Bookmark && d.machine.Phase == machine.Watching
}
