package intercept

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/source/internal/connection"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Transport returns a round tripper that intercepts the requests of Calls. If named,
// an Accept header, is not empty, it asks for the types that it names and no others.
// Any other request costs one context lookup.
func Transport(next http.RoundTripper, named string) http.RoundTripper {
	return &transport{next: next, named: named}
}

type transport struct {
	next  http.RoundTripper
	named string
}

// WrappedRoundTripper returns the transport below, for apimachinery.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req.Context())
	if c == nil {
		return t.next.RoundTrip(req)
	}
	a := c.admit(req, t.named)
	if a == nil {
		resp, err := t.next.RoundTrip(req)
		if err != nil {
			err = c.fail(req, err)
		} else if resp.StatusCode != http.StatusOK {
			c.refused(resp)
		}
		return resp, err
	}
	ctx := req.Context()
	var gathered *connection.Gathered
	if c.watch {
		ctx, gathered = connection.Gather(ctx)
	}
	ours := req.WithContext(ctx)
	ours.Header = req.Header.Clone()
	ours.Header.Set("Accept", a.accept)
	// A wrapper above that asked for compression would undo it on the empty
	// body. Without this header the HTTP transport asks for it, and undoes it.
	ours.Header.Del("Accept-Encoding")
	resp, err := t.next.RoundTrip(ours)
	if err != nil {
		c.decline(fmt.Errorf("the request failed: %w", err))
		return resp, c.fail(req, err)
	}
	resp.Request = req
	switch compressed := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		c.decline(fmt.Errorf("the answer was %s", resp.Status))
		c.refused(resp)
		client := readAccept(req.Header)
		statusAsJSON(resp, &client)
		return resp, nil
	case encoding.OfMediaType(resp.Header.Get("Content-Type")) == nil:
		c.decline(fmt.Errorf("the answer is of type %q", resp.Header.Get("Content-Type")))
		return resp, nil
	case compressed != "" && compressed != "identity":
		c.decline(fmt.Errorf("the answer is encoded as %q", compressed))
		return resp, nil
	}
	if c.watch {
		resp.Body = gathered.Over(resp.Body)
	}
	r := newResponse(req.Context(), c.watch, a, resp)
	if !c.deliver(r) {
		r.Finish(nil, ErrOver)
		return nil, ErrOver
	}
	empty := *resp
	empty.Header = resp.Header.Clone()
	empty.Header.Set("Content-Type", a.encoding.MediaType())
	empty.Header.Del("Content-Length")
	empty.ContentLength = -1
	empty.Trailer = nil
	empty.Body = (*clientBody)(r)
	return &empty, nil
}

// maxStatusBytes is much more than any Status takes: at most, its message repeats
// a request.
const maxStatusBytes = 1 << 20

// statusAsJSON rewrites a refusal in JSON if the client does not read its encoding.
// A refusal that it cannot rewrite stays as it is.
func statusAsJSON(resp *http.Response, client *accepted) {
	enc := encoding.OfMediaType(resp.Header.Get("Content-Type"))
	if enc == nil || enc == encoding.JSON || client.reads[enc.Format()] {
		return
	}
	body := resp.Body
	raw, err := io.ReadAll(io.LimitReader(body, maxStatusBytes))
	again := func(b []byte) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(b), body), body}
	}
	var text []byte
	if err == nil {
		text, err = statusText(enc, raw)
	}
	if err != nil {
		again(raw)
		return
	}
	again(text)
	resp.Header = resp.Header.Clone()
	resp.Header.Set("Content-Type", runtime.ContentTypeJSON)
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(text))
}

// statusText returns the Status raw in JSON.
func statusText(enc encoding.Encoding, raw []byte) ([]byte, error) {
	o, err := enc.Object(raw)
	if err != nil {
		return nil, err
	}
	gvk := encoding.KindOf(enc, o)
	if gvk != encoding.StatusKind {
		return nil, fmt.Errorf("%s instead of a Status", gvk)
	}
	var status metav1.Status
	if err := enc.Unmarshal(o.Raw, &status); err != nil {
		return nil, err
	}
	status.SetGroupVersionKind(gvk)
	return json.Marshal(&status)
}
