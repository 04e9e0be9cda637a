package kinglet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// OwnWrites records with informers everything that is written through a client, so that
// programs need not call Informer.Wrote. It works for typed, dynamic and metadata
// clients of client-go, and for controller-runtime's.
//
//	own := &kinglet.OwnWrites{}
//	cfg.Wrap(own.Wrap) // before clients are made
//	client, err := kubernetes.NewForConfig(cfg)
//	…
//	err = own.Add(corev1.SchemeGroupVersion.WithResource("pods"), pods)
//
// When a call of the client returns, the reads of every informer that was added for the
// resource include the write. The informer's own decoder reads the answer, in addition
// to the client's. An object that the informer does not cover changes nothing.
//
// An informer cannot read some answers, although its reads may have to include the
// write: metadata alone for an informer of whole objects, protobuf for one of
// unstructured objects, another API version of the resource, the answer to a scale, and
// the deletion of a collection. Unread is called with them.
//
// Dry runs are not recorded, nor are answers that are errors, requests under
// WithoutOwnWrites, and subresources that answer with another type, except scale:
// eviction, binding, token.
//
// It costs the answer's memory once more, and about ten to a hundred microseconds of
// decoding for each write and informer. Requests other than writes of a resource that
// was added are passed on unchanged. The zero value is ready to use. All methods are
// safe for concurrent use.
type OwnWrites struct {
	// Unread, if it is not nil, is called with each write that an informer cannot read,
	// before the call of the client returns. It must be set before the first request.
	Unread func(UnreadWrite)

	mu sync.RWMutex
	// informers by resource; guarded by mu.
	informers map[schema.GroupResource][]ownInformer
}

// ownInformer is an informer of a resource in a version.
type ownInformer struct {
	version  string
	informer OwnWriter
}

// UnreadWrite is a write through a client that an informer has not recorded, because it
// cannot read the answer.
type UnreadWrite struct {
	// Informer is the informer, and Resource what was written, in the request's
	// version.
	Informer OwnWriter
	Resource schema.GroupVersionResource
	// Namespace is the request's namespace; empty for all namespaces.
	Namespace string
	// Deleted is set if one request deleted the objects, or marked them for deletion;
	// then Objects is what they were before. Otherwise Objects is what was written.
	Deleted bool
	// Objects holds the metadata in the answer. It is nil if the answer to the deletion
	// of a collection does not list what was deleted.
	Objects []metav1.ObjectMeta
}

// OwnWriter is an Informer of any type.
type OwnWriter interface {
	Runnable
	// WroteDelete is Informer.WroteDelete.
	WroteDelete(key Key, uid types.UID) error
	// wroteAnswer records the object in the body of an answer.
	wroteAnswer(gv schema.GroupVersion, body []byte) error
	// report calls OnError.
	report(err error)
}

var _ OwnWriter = (*Informer[any])(nil)

// withoutOwnWrites is the key of a context's value.
type withoutOwnWrites struct{}

// WithoutOwnWrites returns a context whose requests OwnWrites does not record.
func WithoutOwnWrites(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutOwnWrites{}, true)
}

// Add makes OwnWrites record writes to a resource with informers from now on. resource
// is the resource, with the version, that the informers list.
func (o *OwnWrites) Add(resource schema.GroupVersionResource, informers ...OwnWriter) error {
	if resource.Version == "" || resource.Resource == "" {
		return fmt.Errorf("own writes: %q is no resource with a version", resource)
	}
	if slices.Contains(informers, nil) {
		return fmt.Errorf("own writes of %s: an informer is nil", resource.GroupResource())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.informers == nil {
		o.informers = map[schema.GroupResource][]ownInformer{}
	}
	gr := resource.GroupResource()
	all := slices.Clip(o.informers[gr])
	for _, i := range informers {
		all = append(all, ownInformer{resource.Version, i})
	}
	o.informers[gr] = all
	return nil
}

// Remove ends the recording of writes with an informer, of any resource.
func (o *OwnWrites) Remove(informer OwnWriter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for resource, informers := range o.informers {
		left := slices.DeleteFunc(slices.Clone(informers), func(i ownInformer) bool { return i.informer == informer })
		if o.informers[resource] = left; len(left) == 0 {
			delete(o.informers, resource)
		}
	}
}

// of returns the informers of a resource.
func (o *OwnWrites) of(resource schema.GroupResource) []ownInformer {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.informers[resource]
}

// knows reports whether informers were added for a resource.
func (o *OwnWrites) knows(resource schema.GroupResource) bool { return len(o.of(resource)) > 0 }

// Wrap returns a transport that sends requests through rt and records the writes among
// them. It is meant for rest.Config.Wrap.
func (o *OwnWrites) Wrap(rt http.RoundTripper) http.RoundTripper {
	return &ownTransport{own: o, next: rt}
}

type ownTransport struct {
	own  *OwnWrites
	next http.RoundTripper
}

// WrappedRoundTripper returns the transport below, for client-go.
func (t *ownTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *ownTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	w, ok := writeOf(req, t.own.knows)
	if !ok {
		return t.next.RoundTrip(req)
	}
	resp, err := t.next.RoundTrip(req)
	// An informer that was added since the request was sent may have listed before the
	// write.
	informers := t.own.of(w.resource.GroupResource())
	if len(informers) == 0 || err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 || resp.Header.Get("Content-Encoding") != "" {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), rest}
	if err != nil {
		// The client reads what arrived, and then gets the same error.
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), failingReader{err}), rest}
		return resp, nil
	}
	for _, i := range informers {
		w.record(t.own, i, body)
	}
	return resp, nil
}

// failingReader fails.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
