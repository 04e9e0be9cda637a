package command

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen opens the address that --http names, before anything is asked of a server; it
// returns nil if there is none.
func listen(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return nil, &usageError{fmt.Errorf("--http %q: it has to be HOST:PORT or :PORT, such as localhost:8080 or :8080", address)}
	}
	listener, err := net.Listen("tcp", address)
	switch op, ok := errors.AsType[*net.OpError](err); {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--http %s: another program listens there; take another port, or 0 for a free one", address)
	case ok:
		return nil, fmt.Errorf("--http %s: %w", address, op.Err)
	}
	return listener, err
}
