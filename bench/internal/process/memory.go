package process

import (
	"bytes"
	"fmt"
	"os"
)

// Resident returns VmRSS and VmHWM, in bytes: what is resident now, and what
// was at most since the start or the last ClearPeak. Both are 0 where the
// system has no such file.
func Resident() (now, peak uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if os.IsNotExist(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	for _, line := range []struct {
		name string
		to   *uint64
	}{{"VmRSS:", &now}, {"VmHWM:", &peak}} {
		if *line.to, err = kib(status, line.name); err != nil {
			return 0, 0, err
		}
	}
	return now, peak, nil
}

// ClearPeak makes the peak what is resident now, so that the next phase has
// its own. It does nothing where the system has no such file.
func ClearPeak() error {
	err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// Available returns what the whole machine can give to new processes without
// swapping, in bytes; 0 where the system does not say.
func Available() (uint64, error) {
	info, err := os.ReadFile("/proc/meminfo")
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return kib(info, "MemAvailable:")
}

// kib finds the line that begins with name and returns its number, which is
// in KiB, in bytes.
func kib(file []byte, name string) (uint64, error) {
	_, after, _ := bytes.Cut(file, []byte(name))
	var n uint64
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		return 0, fmt.Errorf("%s %w", name, err)
	}
	return n << 10, nil
}
