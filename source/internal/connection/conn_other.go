//go:build !linux

package connection

import "errors"

// canRead reports whether this system can have a conn. It cannot: its kernel would wake the
// process for each event, even while reads wait.
const canRead = false

func readFrom(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func peek(uintptr, []byte) int { return 0 }

func setLeast(uintptr, int) error { return errors.ErrUnsupported }
