//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package connection

import "syscall"

// canPeek says that peek works here.
const canPeek = true

// peek copies received bytes of a socket to p without consuming them, and returns
// how many; 0 also on an error. It does not wait, since the sockets of package net
// do not block.
func peek(fd uintptr, p []byte) int {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK)
	if err != nil {
		return 0
	}
	return n
}
