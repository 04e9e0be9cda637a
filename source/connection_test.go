package source

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

func TestAClientThatExistsCannotBeGivenAConnectionOfItsOwn(t *testing.T) {
	client := must(kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})).CoreV1().RESTClient()
	if _, err := FromREST[*corev1.Pod](client, "pods", Options{OwnConnection: true}); err == nil {
		t.Error("it was taken")
	}
}
