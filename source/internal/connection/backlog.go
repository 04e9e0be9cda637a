package connection

import (
	"net"
	"syscall"
)

// backlog is what the kernel has received of a connection that is not the stream's own, and
// that net/http reads 4 KiB at a time.
type backlog struct {
	raw  syscall.RawConn
	look func(fd uintptr)
	// seen is what look has found.
	seen []byte
	room [maxChunkHeader]byte
}

// backlogOf returns the backlog of a connection without TLS, nil if it cannot be known.
func backlogOf(c net.Conn) *backlog {
	tcp := tcpOf(c)
	if tcp == nil || !canRead {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	b := &backlog{raw: raw}
	b.look = func(fd uintptr) { b.seen = b.room[:peek(fd, b.room[:])] }
	return b
}

// begun is conn's. A nil backlog knows of nothing.
func (b *backlog) begun() bool {
	if b == nil {
		return false
	}
	b.seen = nil
	_ = b.raw.Control(b.look) // a connection that is closed shows with the next read
	return chunkBegins(b.seen)
}
