//go:build unix

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time that this process has used, user and system,
// on all of its threads; 0 where the system does not say.
func CPU() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
