package source

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// visit is one List or Watch call of a source with a door: where the transport,
// on the closure's goroutine, and the call meet. At most one answer is taken.
type visit struct {
	watch bool
	// metadata says that the call wants PartialObjectMetadata.
	metadata bool
	asked    metav1.ListOptions
	// accept is the Accept header to read objects of gv with.
	accept func(gv schema.GroupVersion) (string, error)
	// answers carries the one answer. Unbuffered, so that it is either the
	// transport's or the call's.
	answers chan *handover
	// over is closed when the call has returned.
	over chan struct{}

	mu    sync.Mutex
	state visitState // guarded by mu
	// reason is why the last request was not taken. guarded by mu
	reason error
}

type visitState uint8

const (
	// waiting for the request.
	waiting visitState = iota
	// underway: the transport waits for the answer to the request.
	underway
	// taken: there was one, and there will be no other.
	taken
)

func newVisit(watch, metadata bool, asked metav1.ListOptions, accept func(schema.GroupVersion) (string, error)) *visit {
	return &visit{
		watch: watch, metadata: metadata, asked: asked, accept: accept,
		answers: make(chan *handover), over: make(chan struct{}), reason: ErrDoorMissed,
	}
}

// end is called when the call returns.
func (v *visit) end() { close(v.over) }

// why is the reason why no answer was taken.
func (v *visit) why() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reason
}

// enter is asked for every request that carries v. It returns nil if the
// request is the client's alone.
func (v *visit) enter(req *http.Request) *passage {
	if !v.begin() {
		// Another one at the same time, or after. What comes of it is for the
		// closure to return.
		return nil
	}
	p, err := v.examine(req)
	if err != nil {
		v.leave(err)
		return nil
	}
	return p
}

func (v *visit) begin() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != waiting {
		return false
	}
	v.state = underway
	return true
}

// leave gives the answer to the client, for the reason err, and lets the next
// request try.
func (v *visit) leave(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.reason = waiting, err
}

// hand gives a to the call, unless that has returned.
func (v *visit) hand(a *handover) bool {
	v.mu.Lock()
	v.state = taken
	v.mu.Unlock()
	select {
	case v.answers <- a:
		return true
	case <-v.over:
		return false
	}
}

// passage is what is known of a request that may be taken.
type passage struct {
	gv schema.GroupVersion
	// accept replaces the client's Accept header.
	accept string
	// encoding is one that the client reads.
	encoding encoding.Encoding
}

// examine says whether req is what the call asked for: that collection
// request, and a client that wants such objects.
func (v *visit) examine(req *http.Request) (*passage, error) {
	gv, ok := collectionOf(req.URL.Path)
	if !ok || req.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s is no request for a collection", req.Method, req.URL.Path)
	}
	if param := v.differs(req.URL.Query()); param != "" {
		return nil, fmt.Errorf("%s of the request is not what was asked for", param)
	}
	client := readAccept(req.Header)
	switch {
	case client.encoding == nil:
		return nil, fmt.Errorf("the client accepts %q", req.Header["Accept"])
	case client.table || client.metadata != v.metadata:
		return nil, fmt.Errorf("the client asks for another form of the objects: %q", req.Header["Accept"])
	}
	accept, err := v.accept(gv)
	if err != nil {
		return nil, err
	}
	return &passage{gv: gv, accept: accept, encoding: client.encoding}, nil
}

// differs returns the name of a parameter that decides about what comes back
// and is not what the call asked for. Selectors are the closure's.
func (v *visit) differs(got url.Values) string {
	boolean := func(b bool) string {
		if b {
			return "true"
		}
		return ""
	}
	limit := ""
	if v.asked.Limit != 0 {
		limit = strconv.FormatInt(v.asked.Limit, 10)
	}
	initial := v.asked.SendInitialEvents != nil && *v.asked.SendInitialEvents
	watch := got.Get("watch")
	for _, p := range []struct{ name, got, want string }{
		{"watch", boolean(watch == "true" || watch == "1"), boolean(v.watch)},
		{"resourceVersion", got.Get("resourceVersion"), v.asked.ResourceVersion},
		{"resourceVersionMatch", got.Get("resourceVersionMatch"), string(v.asked.ResourceVersionMatch)},
		{"continue", got.Get("continue"), v.asked.Continue},
		{"limit", got.Get("limit"), limit},
		{"sendInitialEvents", got.Get("sendInitialEvents"), boolean(initial)},
	} {
		if p.got != p.want {
			return p.name
		}
	}
	return ""
}
