package source

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestAnOwnConnectionIsSharedWithNobody counts the connections of two sources
// of a server that speaks HTTP/2, and looks at how they speak.
func TestAnOwnConnectionIsSharedWithNobody(t *testing.T) {
	for _, own := range []bool{false, true} {
		var mu sync.Mutex
		peers := map[string]int{}
		major := 0
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			peers[r.RemoteAddr]++
			major = r.ProtoMajor
			mu.Unlock()
			if r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "who?", http.StatusUnauthorized)
				return
			}
			answer("application/json", jsonBytes(podList("12", "a", "b")))(w, r)
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		cfg := &rest.Config{Host: srv.URL, BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		for range 2 {
			src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{OwnConnection: own}))
			for range 2 {
				got, err := list(t, src, ListRequest[*corev1.Pod]{})
				if err != nil || len(got.items) != 2 {
					t.Fatalf("%v: %d items", err, len(got.items))
				}
			}
		}
		wantPeers, wantMajor := 1, 2
		if own {
			wantPeers, wantMajor = 2, 1
		}
		if len(peers) != wantPeers || major != wantMajor {
			t.Errorf("own %v: connections %v, HTTP/%d", own, peers, major)
		}
	}
}

// TestHTTP2IsPingedAlsoWithNothingSetAboutTLS: client-go's default transport
// sends no pings.
func TestHTTP2IsPingedAlsoWithNothingSetAboutTLS(t *testing.T) {
	plain := &rest.Config{Host: "https://apiserver.test"}
	if must(rest.TransportFor(plain)) != http.DefaultTransport {
		t.Error("client-go takes another transport than it did, so that pinged is not needed")
	}
	pinged(plain)
	rt, ok := must(rest.TransportFor(plain)).(utilnet.RoundTripperWrapper)
	if !ok {
		t.Fatalf("it is still %T", must(rest.TransportFor(plain)))
	}
	if made := rt.WrappedRoundTripper().(*http.Transport); made == http.DefaultTransport || !slices.Contains(made.TLSClientConfig.NextProtos, "h2") {
		t.Errorf("it speaks %v", made.TLSClientConfig.NextProtos)
	}
	for _, cfg := range []*rest.Config{
		{Host: "http://apiserver.test"},
		{Host: "https://apiserver.test", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		{Host: "https://apiserver.test", Transport: http.DefaultTransport},
		{Host: "https://apiserver.test", Dial: (&net.Dialer{}).DialContext},
	} {
		if pinged(cfg); cfg.NextProtos != nil {
			t.Errorf("%s was changed, and shares no connections with other clients any more", cfg.Host)
		}
	}
}

func TestAClientThatExistsCannotBeGivenAConnectionOfItsOwn(t *testing.T) {
	client := must(kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})).CoreV1().RESTClient()
	if _, err := FromREST[*corev1.Pod](client, "pods", Options{OwnConnection: true}); err == nil {
		t.Error("it was taken")
	}
}
