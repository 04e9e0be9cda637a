package deadpeers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/kinglettest/internal/pipes"
	"github.com/kinglet-go/kinglet/source"
)

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestADeadPeerIsNoticedWithinAMinute has the line of an informer go dead, of
// which no packet tells, and no bookmarks either: pings of HTTP/2 find out.
func TestADeadPeerIsNoticedWithinAMinute(t *testing.T) {
	cert := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		var requests asked
		var major atomic.Int32
		storage := apiserver.NewStorage(apiserver.Pods)
		server := apiserver.New(storage, apiserver.Options{BookmarkInterval: -1, Inject: requests.inject})
		defer server.Close()
		listener := pipes.Listen()
		web := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				major.Store(int32(r.ProtoMajor))
				server.ServeHTTP(w, r)
			}),
			// A ticket would be written while the client writes, too, and a
			// pipe has room for neither.
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true},
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = web.ServeTLS(listener, "", "") // that it was closed
		}()
		wire := &lines{dial: listener.Dial}
		cfg := &rest.Config{Host: "https://apiserver.test", Dial: wire.Dial, QPS: -1,
			TLSClientConfig: rest.TLSClientConfig{Insecure: true}}

		create(t, storage, "a")
		inf, stop := informed(t, cfg, source.Options{})
		if got := requests.take(); !slices.Equal(got, []string{`watch-list ""`}) || inf.Status().Objects != 1 || major.Load() != 2 {
			t.Fatalf("asked %q over HTTP/%d, %d objects", got, major.Load(), inf.Status().Objects)
		}
		testbubble.Elapse(20 * time.Second)
		version := create(t, storage, "b")
		testbubble.Elapse(time.Second)
		wire.die()
		create(t, storage, "c")
		testbubble.Elapse(time.Second)
		if n := inf.Status().Objects; n != 2 {
			t.Fatalf("%d objects: the line is not dead", n)
		}
		testbubble.Elapse(59 * time.Second)
		if got := requests.take(); !slices.Equal(got, []string{`watch "` + version + `"`}) {
			t.Errorf("asked %q, want one watch from %s", got, version)
		}
		if st := inf.Status(); st.Objects != 3 || st.Lists != 0 || st.SilentWatches != 0 {
			t.Errorf("%+v", st)
		}
		stop()
		wire.close()
		_ = web.Close()
		<-served
	})
}
