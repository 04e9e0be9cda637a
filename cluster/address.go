package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports below every system's range for outgoing connections: while the API
// server is stopped, no connection of anybody's can take its port by chance.
const (
	firstPort = 20000
	lastPort  = 32000
)

// listen returns a listener on address, or on a free port of the loopback
// interface if address is empty.
func listen(address string) (*net.TCPListener, error) {
	if address != "" {
		return listenTCP(address)
	}
	var errs []error
	for range 20 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := listenTCP(fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no free port: %w", errors.Join(errs...))
}

func listenTCP(address string) (*net.TCPListener, error) {
	addr, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp4", addr)
}
