package source

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// TestAWatchNoticesADeadPeerWithinAMinute asks the kernel what it will
// do with the connection of a request.
func TestAWatchNoticesADeadPeerWithinAMinute(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer("application/json", jsonFrame("ADDED", pod("ns", "a", "13")))(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		cfg := &rest.Config{QPS: -1}
		if secure {
			srv.StartTLS()
			cfg.Insecure = true
		} else {
			srv.Start()
		}
		defer srv.Close()
		cfg.Host = srv.URL
		conns := make(chan net.Conn, 1)
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
			conns <- c
			return c, err
		}
		src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error {
			raw := must((<-conns).(*net.TCPConn).SyscallConn())
			option := func(level, name int) (value int) {
				var err error
				if cerr := raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) }); cerr != nil {
					t.Fatal(cerr)
				}
				if err != nil {
					t.Fatal(err)
				}
				return value
			}
			if option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) == 0 {
				t.Errorf("TLS %v: no keep-alive", secure)
			}
			idle := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
			interval := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
			count := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
			if noticed := idle + count*interval; noticed > 60 {
				t.Errorf("TLS %v: a dead peer is noticed after %d + %d*%d = %d s", secure, idle, count, interval, noticed)
			}
			return io.EOF
		})
		if err != io.EOF {
			t.Fatal(err)
		}
	}
}
