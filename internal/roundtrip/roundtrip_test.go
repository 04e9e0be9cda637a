package roundtrip

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type stub func() (*http.Response, error)

func (s stub) RoundTrip(*http.Request) (*http.Response, error) { return s() }

func TestDoReturnsWhatTheClientOfNetHTTPReturns(t *testing.T) {
	for name, rt := range map[string]stub{
		"a body":                     func() (*http.Response, error) { return &http.Response{Body: io.NopCloser(strings.NewReader("x"))}, nil },
		"no body":                    func() (*http.Response, error) { return &http.Response{}, nil },
		"no body, of unknown length": func() (*http.Response, error) { return &http.Response{ContentLength: -1}, nil },
		"no body, but a length":      func() (*http.Response, error) { return &http.Response{ContentLength: 1}, nil },
		"no response":                func() (*http.Response, error) { return nil, nil },
		"an error":                   func() (*http.Response, error) { return nil, errors.New("refused") },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Do(rt, req)
		want, wantErr := (&http.Client{Transport: rt}).Do(req)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: the error is %v, want %v", name, err, wantErr)
		}
		if err == nil {
			a, _ := io.ReadAll(got.Body)
			b, _ := io.ReadAll(want.Body)
			if len(a) != len(b) {
				t.Errorf("%s: the body is %q, want %q", name, a, b)
			}
		}
	}
}
