package source

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// WrapTransport is one end of a Door, made for rest.Config.Wrap. A request made
// for a source with a Door is recognised by its context; for every other one
// the cost is a look into that.
//
// client-go puts the wrappers of rest.Config.Wrap below its own: exec plugins,
// tokens and their renewal, basic authentication, impersonation and logging are
// all above, see each answer that is no 200 unchanged, and work as they do
// without it. Above it may be wrappers of your own that read a body of 200, if
// they can do with an empty one; below it those that need the true one.
// Compression is undone by the HTTP transport, below.
func WrapTransport(rt http.RoundTripper) http.RoundTripper { return &doorTransport{next: rt} }

type doorTransport struct{ next http.RoundTripper }

// WrappedRoundTripper is how apimachinery finds the transport below.
func (t *doorTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *doorTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	v := visitOf(req.Context())
	if v == nil {
		return t.next.RoundTrip(req)
	}
	p := v.enter(req)
	if p == nil {
		return t.next.RoundTrip(req)
	}
	ours := req.WithContext(req.Context())
	ours.Header = req.Header.Clone()
	ours.Header.Set("Accept", p.accept)
	// Whoever asked for a compression above would get an empty answer to undo
	// it on. Without this header the HTTP transport does it by itself.
	ours.Header.Del("Accept-Encoding")
	resp, err := t.next.RoundTrip(ours)
	if err != nil {
		v.leave(fmt.Errorf("the request failed: %w", err))
		return resp, err
	}
	resp.Request = req
	switch compressed := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		v.leave(fmt.Errorf("the answer was %s", resp.Status))
		client := readAccept(req.Header)
		statusAsJSON(resp, &client)
		return resp, nil
	case encoding.OfMediaType(resp.Header.Get("Content-Type")) == nil:
		v.leave(fmt.Errorf("the answer is of type %q", resp.Header.Get("Content-Type")))
		return resp, nil
	case compressed != "" && compressed != "identity":
		v.leave(fmt.Errorf("the answer is encoded as %q", compressed))
		return resp, nil
	}
	a := newHandover(req.Context(), v.watch, p, resp)
	if !v.hand(a) {
		a.end(nil, errCallOver)
		return nil, errCallOver
	}
	empty := *resp
	empty.Header = resp.Header.Clone()
	contentType := p.encoding.MediaType()
	if v.watch {
		contentType = p.encoding.StreamType()
	}
	empty.Header.Set("Content-Type", contentType)
	empty.Header.Del("Content-Length")
	empty.ContentLength = -1
	empty.Trailer = nil
	empty.Body = (*emptySide)(a)
	return &empty, nil
}

// maxStatusBytes is much more than any Status takes: its message repeats a
// request at most.
const maxStatusBytes = 1 << 20

// statusAsJSON rewrites a refusal in an encoding that the client does not read.
// What cannot be rewritten stays as it is.
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

// statusText is a Status in JSON.
func statusText(enc encoding.Encoding, raw []byte) ([]byte, error) {
	o, err := enc.Object(raw)
	if err != nil {
		return nil, err
	}
	gvk := encoding.KindOf(enc, o)
	if gvk != encoding.StatusKind {
		return nil, &KindError{Want: encoding.StatusKind, Got: gvk}
	}
	var status metav1.Status
	if err := enc.Unmarshal(o.Raw, &status); err != nil {
		return nil, err
	}
	status.SetGroupVersionKind(gvk)
	return json.Marshal(&status)
}
