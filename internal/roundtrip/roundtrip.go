// Package roundtrip sends requests through somebody else's http.RoundTripper.
package roundtrip

import (
	"fmt"
	"net/http"
)

// Do sends req through rt. Its response always has a Body, as if net/http's client had sent
// req: stubs in unit tests return one whose Body is nil, or none at all.
func Do(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := rt.RoundTrip(req)
	switch {
	case err != nil:
		return resp, err
	case resp == nil:
		return nil, fmt.Errorf("%T returned neither a response nor an error", rt)
	case resp.Body != nil:
	case resp.ContentLength > 0:
		return nil, fmt.Errorf("%T returned a response of %d bytes without a body", rt, resp.ContentLength)
	default:
		resp.Body = http.NoBody
	}
	return resp, nil
}
