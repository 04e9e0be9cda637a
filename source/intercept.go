package source

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

// interception is a source's side of its Interceptor.
type interception[T any] struct {
	interceptor *Interceptor
	opts        *Options
	name        string
	want        expected

	mu sync.Mutex
	// requested is what the last request was for; empty before the first.
	requested schema.GroupVersionResource // guarded by mu
	// kind and dec are for objects of gv, the group and version of the last
	// request. A client usually asks for one only.
	gv   schema.GroupVersion // guarded by mu
	kind *kind[T]            // guarded by mu
	dec  *decoder[T]         // guarded by mu
	// shut is why the interceptor is off, or nil. guarded by mu
	shut error
}

// open reports whether to try the interceptor. honours reports that the
// ListerWatcher takes a context.
func (g *interception[T]) open(honours bool) bool {
	if g.interceptor == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut == nil && honours
}

// call returns a new Call.
func (g *interception[T]) call(watch bool, asked metav1.ListOptions) *intercept.Call {
	return intercept.NewCall(watch, g.want.metadata(), asked, func(resource schema.GroupVersionResource, named string) (string, error) {
		return g.accept(resource, named, watch)
	})
}

// accept returns the Accept header of a request for a resource. named are the types
// that the client's configuration limits it to.
func (g *interception[T]) accept(resource schema.GroupVersionResource, named string, watch bool) (string, error) {
	dec, _, err := g.decoder(resource.GroupVersion())
	if err != nil {
		return "", err
	}
	a, err := acceptsOf(dec.codec.kind, named)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requested = resource
	return a.header(watch), nil
}

func (g *interception[T]) decoder(gv schema.GroupVersion) (*decoder[T], *kind[T], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dec != nil && g.gv == gv {
		return g.dec, g.kind, nil
	}
	k, err := newKind[T](gv, g.opts)
	if err != nil {
		return nil, nil, err
	}
	dec, err := newDecoder[T](gv, g.opts)
	if err != nil {
		return nil, nil, err
	}
	// The client gives metadata no kind, so neither does the decoder: what it
	// returns may be held, and is not written to afterwards.
	dec.codec.kind.bare = true
	g.gv, g.kind, g.dec = gv, k, dec
	return dec, k, nil
}

// resource returns what the last request was for; empty before the first.
func (g *interception[T]) resource() schema.GroupVersionResource {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requested
}

// shared returns the Sharing in use; before the first call, that of the options.
func (g *interception[T]) shared() *Sharing {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.interceptor == nil || g.opts.DisableSharing:
		return nil
	case g.dec != nil:
		return g.dec.codec.sharing
	}
	return g.opts.Sharing
}

// left counts a call that succeeded without the interceptor, and tells onPath why.
func (g *interception[T]) left(reason error, onPath func(ReadPath)) {
	if g.interceptor == nil {
		tell(onPath, PathClient, ErrNoInterceptor)
		return
	}
	g.mu.Lock()
	if g.shut != nil {
		reason = g.shut
	}
	g.mu.Unlock()
	err := &InterceptError{Source: g.name, Err: reason}
	g.interceptor.left(err)
	tell(onPath, PathClient, err)
}

// missed returns why a call did not try the interceptor. honours reports that the
// ListerWatcher takes a context.
func missed(honours bool) error {
	if honours {
		return ErrNotIntercepted
	}
	return fmt.Errorf("%w: the ListerWatcher takes none", ErrNotIntercepted)
}

// close turns the interceptor off for good, and returns the error for it.
func (g *interception[T]) close(reason error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = reason
	return &InterceptError{Source: g.name, Err: reason}
}

// listKind returns the kind of an empty list that the client accepts as a list of
// these objects. first is the kind of the first object that came, if any came. An
// unstructured client accepts any kind.
func (k *kind[T]) listKind(gv schema.GroupVersion, first schema.GroupVersionKind) schema.GroupVersionKind {
	switch {
	case k.form == metadataOnly:
		first = partialKind
	case k.form == typed:
		first = gv.WithKind(k.want.Kind)
	case first.Kind == "":
		first = gv.WithKind("")
	}
	first.Kind += "List"
	return first
}

// kindOf returns the kind in obj.
func kindOf[T any](obj T) schema.GroupVersionKind {
	if ro, ok := any(obj).(runtime.Object); ok && !isNil(obj) {
		return ro.GetObjectKind().GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

// otherKind returns the *KindError in err, unless that is about a Status or an
// object without a kind. It means that the closure asks for another type, and
// converts it to T.
func otherKind(err error) *KindError {
	k, ok := errtype.As[*KindError](err)
	if !ok || k.Got == encoding.StatusKind || k.Got.Kind == "" {
		return nil
	}
	return k
}
