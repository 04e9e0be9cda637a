package connection

import (
	"net"
	"net/http"
	"slices"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHTTP2IsPingedAlsoWithNothingSetAboutTLS: client-go's default transport
// sends no pings.
func TestHTTP2IsPingedAlsoWithNothingSetAboutTLS(t *testing.T) {
	plain := &rest.Config{Host: "https://apiserver.test"}
	if must(rest.TransportFor(plain)) != http.DefaultTransport {
		t.Error("client-go takes another transport than it did, so that EnablePings is not needed")
	}
	EnablePings(plain)
	rt := must(rest.TransportFor(plain))
	if wrapper, ok := rt.(utilnet.RoundTripperWrapper); ok { // since 0.36
		rt = wrapper.WrappedRoundTripper()
	}
	if made := rt.(*http.Transport); made == http.DefaultTransport || !slices.Contains(made.TLSClientConfig.NextProtos, "h2") {
		t.Errorf("it speaks %v", made.TLSClientConfig.NextProtos)
	}
	for _, cfg := range []*rest.Config{
		{Host: "http://apiserver.test"},
		{Host: "https://apiserver.test", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		{Host: "https://apiserver.test", Transport: http.DefaultTransport},
		{Host: "https://apiserver.test", Dial: (&net.Dialer{}).DialContext},
	} {
		if EnablePings(cfg); cfg.NextProtos != nil {
			t.Errorf("%s was changed, and shares no connections with other clients any more", cfg.Host)
		}
	}
}
