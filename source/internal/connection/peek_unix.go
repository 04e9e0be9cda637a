//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package connection

import "syscall"

// canPeek says that peek works here.
const canPeek = true

// peek copies what a socket has received to p, leaves it there, and returns how
// much that is; 0 also where nothing is known. It does not wait, since the
// sockets of package net do not block.
func peek(fd uintptr, p []byte) int {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK)
	if err != nil {
		return 0
	}
	return n
}
