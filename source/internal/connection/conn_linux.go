package connection

import "syscall"

// canRead reports whether this system can have a conn.
const canRead = true

// readFrom reads once, without waiting.
func readFrom(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// peek copies received bytes of a socket to p, which stay there, without waiting.
func peek(fd uintptr, p []byte) int {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK)
	if err != nil {
		return 0
	}
	return n
}

// setLeast makes the kernel report a socket as readable once it has so many bytes, or as
// many as the peer may send without waiting: at once, if it has them already.
func setLeast(fd uintptr, n int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
}
