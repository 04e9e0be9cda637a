package source

import (
	"net"
	"net/http/httptest"
	"net/http/httptrace"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// TestAnOwnConnectionNoticesADeadPeerWithinAMinute asks the kernel what it will
// do with the connection of a request.
func TestAnOwnConnectionNoticesADeadPeerWithinAMinute(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(answer("application/json", jsonBytes(podList("12", "a"))))
		cfg := &rest.Config{QPS: -1}
		if secure {
			srv.StartTLS()
			cfg.Insecure = true
		} else {
			srv.Start()
		}
		defer srv.Close()
		cfg.Host = srv.URL
		var conn net.Conn
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { conn = info.Conn },
		})
		src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{OwnConnection: true}))
		if err := src.List(ctx, ListRequest[*corev1.Pod]{}, func(Page[*corev1.Pod]) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = wrapped.NetConn()
		}
		raw := must(conn.(*net.TCPConn).SyscallConn())
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
	}
}
