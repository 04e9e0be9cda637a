package interop

import (
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source"
)

// renewing sends a request again with a new token when the old one is refused,
// as wrappers of cloud providers do.
type renewing struct {
	next  http.RoundTripper
	file  string
	token string
	again *int
}

func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	token, err := os.ReadFile(r.file)
	if err != nil {
		return nil, err
	}
	r.token = string(token)
	*r.again++
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+r.token)
	return r.next.RoundTrip(req)
}

func TestACredentialIsRenewedWithinARequestAboveOrBelowTheInterceptor(t *testing.T) {
	for _, above := range []bool{true, false} {
		s := newAPIServer(t)
		fill(t, s, 3)
		again := 0
		cfg := s.anonymous()
		if above {
			cfg.Wrap(source.WrapTransport)
		}
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return &renewing{next: rt, file: s.token, token: "from long ago", again: &again}
		})
		if !above {
			cfg.Wrap(source.WrapTransport)
		}
		checkReads(t, s, cfg)
		if again != 2 {
			t.Errorf("above %v: renewed %d times", above, again)
		}
	}
}

func TestATokenFileIsReadAboveTheInterceptor(t *testing.T) {
	s := newAPIServer(t)
	fill(t, s, 3)
	cfg := s.anonymous()
	cfg.BearerTokenFile = s.token
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "somebody"}
	cfg.Wrap(source.WrapTransport)
	src := interceptedPods(cfg)
	if got, err := list(t, src, source.ListRequest[*corev1.Pod]{}); err != nil || len(got.Items) != 3 {
		t.Errorf("%+v: %v", got, err)
	}
	src.check(t, 1)
}

func interceptedPods(cfg *rest.Config) *recorder[*corev1.Pod] {
	return recorded(must(source.FromListerWatcher[*corev1.Pod](typedPods(cfg), source.Options{Intercept: true})))
}

// checkReads lists and watches with a token that was rotated before each.
func checkReads(t *testing.T, s *apiServer, cfg *rest.Config) {
	t.Helper()
	src := interceptedPods(cfg)
	s.rotate("the second")
	if got, err := list(t, src, source.ListRequest[*corev1.Pod]{}); err != nil || len(got.Items) != 3 {
		t.Errorf("%+v: %v", got, err)
	}
	s.rotate("the third")
	watchN(t, src, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, 4)
	src.check(t, 2)
}
