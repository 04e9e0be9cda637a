//go:build !linux

package connection

import "errors"

// canRead says that no conn can be made here: the kernel would wake the process for each
// event, whether a read waits or not.
const canRead = false

func readFrom(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func setLeast(uintptr, int) error { return errors.ErrUnsupported }
