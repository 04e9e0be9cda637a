package source

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source/internal/intercept"
	"github.com/kinglet-go/kinglet/store"
)

// InterceptError reports why a source did not read a response, although Options.Intercept
// is set. From List or Watch it means that interception is off for this source: the next
// call takes what the closures return.
type InterceptError struct {
	// Source is the source's String.
	Source string
	Err    error
}

func (e *InterceptError) Error() string {
	return fmt.Sprintf("%s: not read from the wire: %v", e.Source, e.Err)
}

// Unwrap returns the reason.
func (e *InterceptError) Unwrap() error { return e.Err }

// Reasons of an InterceptError. Other reasons are plain texts.
var (
	// ErrNotIntercepted: no request of the call passed WrapTransport with the
	// call's context. The client was made without cfg.Wrap(WrapTransport) or is
	// a fake, or the closure or the ListerWatcher takes no context.
	ErrNotIntercepted = intercept.ErrMissed
	// ErrPostProcessed: the closure processes what its client returns. The
	// error that wraps it says how that was detected.
	ErrPostProcessed = errors.New("the closure does more than to pass on its client's answer")
)

// WrapTransport lets a source made of closures read the wire, for rest.Config.Wrap. The
// closures of a generated, dynamic or metadata client return objects, which costs what
// client-go's decoding costs. Through WrapTransport the client still makes the request,
// with its paths, selectors, authentication, retries and rate limit. The source then
// reads a response with status 200 itself, and the client gets an empty one.
//
//	cfg.Wrap(source.WrapTransport) // before the client is made
//	client, err := kubernetes.NewForConfig(cfg)
//	…
//	src, err := source.FromListerWatcher[*corev1.Pod](lw, source.Options{Intercept: true})
//	…
//	informer.Status().ReadPath // how objects are read, why, and since when
//
// It needs both ends: WrapTransport on the client's configuration, or WrapClient, and
// Options.Intercept of the source. A request made for such a source is recognised by its
// context; any other costs one context lookup, and is untouched.
//
// client-go puts the wrappers of rest.Config.Wrap below its own: exec plugins, tokens and
// their renewal, basic authentication, impersonation and logging are all above. They see
// each response other than a 200 unchanged. Wrappers of your own that read the body of a
// 200 belong below it; above it they see an empty body. The HTTP transport, which is
// below, undoes compression.
//
// # When it is not used
//
// The source takes what the closures return, as it does without Intercept, if the request
//
//   - does not reach WrapTransport with the context that the source gave to
//     ListWithContext or WatchWithContext,
//   - is not the one request for a collection that the source asked for,
//   - or is answered with anything but a 200 of JSON or protobuf.
//
// Only speed is lost by that. A ReadPath has the reason, in the status of each informer.
//
// # What the closures may do
//
// They may choose the client, the path and the selectors, add objects to the
// list, ask a second server if the first does not respond or refuses, and fail. A
// response that breaks off ends the call. They must not look at the objects: a
// closure that filters or changes what its client returns sees none, so its filter
// is not applied. That cannot be detected, so do not set Intercept for such a
// source. (Filter by selectors, or in Map.) One known case: the closures of
// controller-runtime's metadata-only informers set the kind of each object. The kind
// then stays empty, as client-go's metadata client leaves it.
//
// A closure that is detected turns interception off for its source: one that
// fails on an empty response, changes the list's version, sends events of its
// own, or asks for another kind than T. That call fails with an *InterceptError,
// and later calls take what the closures return.
//
// # What is different
//
// The server is asked for what the source reads best: protobuf for types that
// support it, even if the client would have asked for JSON. JSON distinguishes
// an empty list or map from a missing one, protobuf does not.
//
// An open watch takes two more goroutines than one of FromREST: the client's own
// reader and one that waits for it. client-go's metrics of response sizes count
// the empty responses.
func WrapTransport(rt http.RoundTripper) http.RoundTripper { return intercept.Transport(rt, "") }

// WrapClient returns a copy of a client that exists already, with WrapTransport above
// all else in its transport. If the client's configuration names types
// (rest.Config.AcceptContentTypes), those are requested and no others. The copy shares
// connections and the rate limiter with client.
func WrapClient(client *rest.RESTClient) *rest.RESTClient {
	return through(client, func(rt http.RoundTripper) http.RoundTripper {
		return intercept.Transport(rt, acceptHeader(client.Get()))
	})
}

// through returns a copy of client whose requests go through wrap first.
func through(client *rest.RESTClient, wrap func(http.RoundTripper) http.RoundTripper) *rest.RESTClient {
	c := &rest.RESTClient{}
	// client-go cannot copy a client. By reflection, since vet takes an atomic in it
	// for a lock: a flag that is set once if a server refuses CBOR.
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(client).Elem())
	hc := *http.DefaultClient // client-go's for none
	if client.Client != nil {
		hc = *client.Client
	}
	hc.Transport = wrap(cmp.Or(hc.Transport, http.DefaultTransport))
	c.Client = &hc
	return c
}

// ObjectOf returns the object that the path of a request names. The path may have
// a proxy's prefix:
//
//	…/api/v1/namespaces/ns/pods          a collection, where objects are created
//	…/api/v1/namespaces/ns/pods/web      one object
//	…/api/v1/namespaces/ns/pods/web/log  a subresource of it
//	…/apis/apps/v1/…                     the same of other groups
//
// The key has no name if the path is a collection's. A prefix that itself looks like
// a resource makes a path ambiguous; ObjectOf then prefers a resource that known
// reports, and otherwise reads the path from its beginning. known may be nil.
func ObjectOf(path string, known func(schema.GroupResource) bool) (resource schema.GroupVersionResource, key store.Key, subresource string, ok bool) {
	return intercept.ObjectOf(path, known)
}
