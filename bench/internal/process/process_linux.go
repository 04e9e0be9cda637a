package process

import (
	"time"

	"golang.org/x/sys/unix"
)

func usage() (cpu time.Duration, switches int64, err error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw, nil
}

// ThreadTime returns the CPU time of the calling thread, which a busy machine does not
// disturb.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: process: " + err.Error())
	}
	return time.Duration(t.Nano())
}
