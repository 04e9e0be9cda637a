// Package intercept hands the responses of a client's requests to a source.
//
// A Call is one List or Watch call of a source. It travels to the client's
// transport in the context of the request. There Transport recognises it, asks
// the server for what the source reads best, gives the source the response, and
// the client an empty one, which ends when the source is done. See Interceptor in
// package source for the purpose.
//
// Two goroutines use a Call: the source's, and the client's in RoundTrip. Its
// lock is never held during anything that blocks.
package intercept

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinglet-go/kinglet/source/internal/connection"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// ErrMissed reports that no request of a call passed Transport with the call's
// context.
var ErrMissed = errors.New("no request passed WrapTransport with the context of the call")

// Call is one List or Watch call of a source. At most one response is delivered.
type Call struct {
	// Responses delivers the response. It is unbuffered, so that a response is
	// either the transport's or the source's.
	Responses chan *Response
	watch     bool
	// metadata reports that the call wants PartialObjectMetadata.
	metadata bool
	asked    metav1.ListOptions
	// route is that of the source's watches, whose events may wait for delay.
	route *connection.Route
	delay time.Duration
	// accept returns the Accept header for objects of a resource. named are the types
	// that the client's configuration limits it to; empty for no limit.
	accept func(resource schema.GroupVersionResource, named string) (string, error)
	// over is closed when the call has returned.
	over chan struct{}

	mu    sync.Mutex
	state callState // guarded by mu
	// reason is why the last request was not intercepted. guarded by mu
	reason error
	// retryAfter is what the last refusal asked for, in seconds. guarded by mu
	retryAfter int
	// failure is the error of the last request that got no response. guarded by mu
	failure error
	// timedOut is the URL of a watch's last request, if that took too long. guarded by mu
	timedOut string
}

type callState uint8

const (
	// waiting for the request.
	waiting callState = iota
	// underway: the transport waits for the response to the request.
	underway
	// delivered: there was a response, and there will be no other.
	delivered
)

// NewCall returns a call for the options asked. accept returns the Accept header for
// objects of a resource. Events of a watch may wait for delay, and it is sent as route says.
func NewCall(watch, metadata bool, asked metav1.ListOptions, route *connection.Route, delay time.Duration, accept func(resource schema.GroupVersionResource, named string) (string, error)) *Call {
	return &Call{
		Responses: make(chan *Response), watch: watch, metadata: metadata, asked: asked, route: route, delay: delay, accept: accept,
		over: make(chan struct{}), reason: ErrMissed,
	}
}

type callKey struct{}

// InContext returns a context that carries the call to the transport.
func (c *Call) InContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// End is to be called when the call returns.
func (c *Call) End() { close(c.over) }

// Reason returns why no response was delivered.
func (c *Call) Reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// admit is called for every request that carries c. It returns nil if the
// request is the client's alone.
func (c *Call) admit(req *http.Request, named string) *admission {
	c.mu.Lock()
	first := c.state == waiting
	if first {
		c.state = underway
	}
	c.mu.Unlock()
	if !first {
		// Another request at the same time, or after. Its response is for the
		// closure to return.
		return nil
	}
	a, err := c.examine(req, named)
	if err != nil {
		c.decline(err)
		return nil
	}
	return a
}

// decline leaves the response to the client, and lets the next request try.
func (c *Call) decline(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.reason = waiting, reason
}

// errFailed is in what the client gets for a request without a response. For the error
// itself, client-go would try again for long, or return a watch that ends at once. For some
// errors it does so because of their text.
var errFailed = errors.New("no response")

// fail keeps the error of a request for Failure, and returns the client's. A config may be
// wrapped twice: then the one below has done so.
func (c *Call) fail(req *http.Request, err error) error {
	if errors.Is(err, errFailed) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = &url.Error{Op: "Get", URL: req.URL.Redacted(), Err: err}
	if c.watch && req.Context().Err() != nil {
		c.timedOut = req.URL.String()
	}
	if told := fmt.Errorf("%w: %s", errFailed, err); !utilnet.IsProbableEOF(told) && !utilnet.IsHTTP2ConnectionLost(told) {
		return told
	}
	return errFailed
}

// again reports whether a client repeats the request before, for which its timeout ran out:
// net/http then replaces errFailed by an error for which client-go tries a watch again.
func (c *Call) again(req *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.timedOut
	c.timedOut = ""
	return last == req.URL.String()
}

// Failure returns the error of the last request that got no response, if err, the
// closure's, comes from one.
func (c *Call) Failure(err error) error {
	if !errors.Is(err, errFailed) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// refused notes when a refused request may be sent again, and hides it from the client,
// which would do so itself, silently.
func (c *Call) refused(resp *http.Response) {
	after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return
	}
	resp.Header.Del("Retry-After")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retryAfter = after
}

// RetryAfter returns how long to wait before the request is sent again, if it was refused and
// the client does not know; 0 otherwise, and for a nil Call.
func (c *Call) RetryAfter() time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == delivered {
		return 0
	}
	return time.Duration(c.retryAfter) * time.Second
}

// Refusal returns the client's error of a refused request with what refused has hidden.
func (c *Call) Refusal(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	api, ok := err.(*apierrors.StatusError) //nolint:errorlint // as the client returns it
	if !ok || c.retryAfter == 0 || api.ErrStatus.Details != nil && api.ErrStatus.Details.RetryAfterSeconds != 0 {
		return err
	}
	st := *api.ErrStatus.DeepCopy()
	if st.Details == nil {
		st.Details = &metav1.StatusDetails{}
	}
	st.Details.RetryAfterSeconds = int32(c.retryAfter)
	return &apierrors.StatusError{ErrStatus: st}
}

// deliver gives r to the source, unless the call has returned.
func (c *Call) deliver(r *Response) bool {
	c.mu.Lock()
	c.state = delivered
	c.mu.Unlock()
	select {
	case c.Responses <- r:
		return true
	case <-c.over:
		return false
	}
}

// admission is what is known of a request that may be intercepted.
type admission struct {
	gv schema.GroupVersion
	// accept replaces the client's Accept header.
	accept string
	// encoding is one that the client reads.
	encoding encoding.Encoding
}

// examine returns an error unless req is the request for a collection that the
// call asked for, from a client that wants such objects.
func (c *Call) examine(req *http.Request, named string) (*admission, error) {
	resource, ok := CollectionOf(req.URL.Path)
	if !ok || req.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s is no request for a collection", req.Method, req.URL.Path)
	}
	if param := c.differs(req.URL.Query()); param != "" {
		return nil, fmt.Errorf("%s of the request is not what was asked for", param)
	}
	reads, err := c.readAccept(req.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	accept, err := c.accept(resource, named)
	if err != nil {
		return nil, err
	}
	return &admission{gv: resource.GroupVersion(), accept: accept, encoding: reads}, nil
}

// differs returns the name of a parameter that affects the response and is not
// what the call asked for. Selectors are the closure's choice.
func (c *Call) differs(got url.Values) string {
	boolean := func(b bool) string {
		if b {
			return "true"
		}
		return ""
	}
	limit := ""
	if c.asked.Limit != 0 {
		limit = strconv.FormatInt(c.asked.Limit, 10)
	}
	initial := c.asked.SendInitialEvents != nil && *c.asked.SendInitialEvents
	watch := got.Get("watch")
	for _, p := range []struct{ name, got, want string }{
		{"watch", boolean(watch == "true" || watch == "1"), boolean(c.watch)},
		{"resourceVersion", got.Get("resourceVersion"), c.asked.ResourceVersion},
		{"resourceVersionMatch", got.Get("resourceVersionMatch"), string(c.asked.ResourceVersionMatch)},
		{"continue", got.Get("continue"), c.asked.Continue},
		{"limit", got.Get("limit"), limit},
		{"sendInitialEvents", got.Get("sendInitialEvents"), boolean(initial)},
	} {
		if p.got != p.want {
			return p.name
		}
	}
	return ""
}

// readAccept returns an encoding that a client reads, preferably JSON. It is an error if
// there is none, or if the server is to convert the objects to another form than the
// call's.
func (c *Call) readAccept(header []string) (encoding.Encoding, error) {
	if len(header) == 0 {
		header = []string{"*/*"}
	}
	var reads encoding.Encoding
	metadata, table := false, false
	for one := range strings.SplitSeq(strings.Join(header, ","), ",") {
		media, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		enc := encoding.OfMediaType(media)
		if media == "*/*" || media == "application/*" {
			enc = encoding.JSON
		}
		if reads == nil || enc == encoding.JSON {
			reads = enc
		}
		switch as := params["as"]; {
		case strings.HasPrefix(as, "PartialObjectMetadata"):
			metadata = true
		case as != "":
			table = true
		}
	}
	switch {
	case reads == nil:
		return nil, fmt.Errorf("the client accepts %q", header)
	case table || metadata != c.metadata:
		return nil, fmt.Errorf("the client asks for another form of the objects: %q", header)
	}
	return reads, nil
}
