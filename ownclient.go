package kinglet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source"
)

// OwnWrites records everything that is written through a client with informers, so
// that programs need no calls of Informer.Wrote. It works for typed, dynamic and
// metadata clients of client-go, and for controller-runtime's.
//
//	own := &kinglet.OwnWrites{}
//	cfg.Wrap(own.Wrap) // before clients are made
//	client, err := kubernetes.NewForConfig(cfg)
//	…
//	err = own.Add(corev1.SchemeGroupVersion.WithResource("pods"), pods)
//
// When a call of the client returns, the reads of every informer that was added
// for the resource include the write. The informer's own decoder reads the answer,
// beside the client's. An object that the informer does not cover changes nothing.
//
// Left out are dry runs, answers that are errors, deletes of whole collections,
// and subresources that answer with another type, such as scale, eviction and
// binding. So are answers in another API version than the informer's, and answers
// with no more than metadata (metadata.Interface) for informers of whole objects.
//
// It costs the answer's memory once more, and some ten to hundred microseconds of
// decoding for each write and informer. Requests other than writes of a resource
// that was added are passed on as they are. The zero value is ready. All methods
// are safe for concurrent use.
type OwnWrites struct {
	mu sync.RWMutex
	// informers by resource; guarded by mu.
	informers map[schema.GroupVersionResource][]OwnWriter
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

// Add records writes to a resource with informers from now on. It is the resource, in
// the version, that they list.
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
		o.informers = map[schema.GroupVersionResource][]OwnWriter{}
	}
	o.informers[resource] = append(slices.Clip(o.informers[resource]), informers...)
	return nil
}

// Remove records no more writes with an informer, of any resource.
func (o *OwnWrites) Remove(informer OwnWriter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for resource, informers := range o.informers {
		left := slices.DeleteFunc(slices.Clone(informers), func(i OwnWriter) bool { return i == informer })
		if o.informers[resource] = left; len(left) == 0 {
			delete(o.informers, resource)
		}
	}
}

// of returns the informers of a resource.
func (o *OwnWrites) of(resource schema.GroupVersionResource) []OwnWriter {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.informers[resource]
}

// Wrap returns a transport that sends requests by another one, and records those that
// are writes. It is meant for rest.Config.Wrap.
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
	w, ok := writeOf(req)
	if !ok {
		return t.next.RoundTrip(req)
	}
	informers := t.own.of(w.resource)
	if len(informers) == 0 {
		return t.next.RoundTrip(req)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 || resp.Header.Get("Content-Encoding") != "" {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), rest}
	if err != nil {
		// The client reads what came, and then gets the same error.
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), failingReader{err}), rest}
		return resp, nil
	}
	for _, i := range informers {
		w.record(i, body)
	}
	return resp, nil
}

// failingReader fails.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// clientWrite is a request that writes one object.
type clientWrite struct {
	resource schema.GroupVersionResource
	key      Key // of a delete
	delete   bool
}

// answeredWithObject are the subresources whose answer is the object itself.
var answeredWithObject = []string{"", "status", "ephemeralcontainers", "resize", "approval", "finalize"}

// writeOf returns what a request writes; ok is false if it writes nothing that an
// informer could record.
func writeOf(req *http.Request) (w clientWrite, ok bool) {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	case http.MethodDelete:
		w.delete = true
	default:
		return w, false
	}
	if req.URL.Query().Get("dryRun") != "" {
		return w, false
	}
	resource, key, sub, ok := source.ObjectOf(req.URL.Path)
	if !ok || !slices.Contains(answeredWithObject, sub) {
		return w, false
	}
	w.resource, w.key = resource, key
	if w.delete && (key.Name == "" || sub != "" || dryDelete(req)) {
		return w, false
	}
	return w, true
}

// dryDelete reports whether a delete may be a dry run, according to its body. The
// only value of dryRun is "All", in JSON as in protobuf, and nothing else in a body
// contains that.
func dryDelete(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return false
	}
	if req.GetBody == nil {
		return true // unknown
	}
	body, err := req.GetBody()
	if err != nil {
		return true
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	return err != nil || bytes.Contains(b, []byte("All"))
}

// record records the answer with one informer.
func (w *clientWrite) record(i OwnWriter, body []byte) {
	gv := w.resource.GroupVersion()
	var err error
	if w.delete {
		status, uid, gone := source.DeleteAnswer(body)
		switch {
		case !gone && !status:
			err = i.wroteAnswer(gv, body)
		case gone && uid != "":
			err = i.WroteDelete(w.key, uid)
		}
	} else {
		err = i.wroteAnswer(gv, body)
	}
	_, otherKind := errtype.As[*source.KindError](err)
	switch {
	case err == nil, otherKind:
	case errors.Is(err, ErrNotCovered), errors.Is(err, ErrNotRunning), errors.Is(err, ErrStopped), errors.Is(err, source.ErrNoAnswers):
		// It does not concern the informer.
	default:
		i.report(err)
	}
}

// wroteAnswer implements OwnWriter.
func (i *Informer[T]) wroteAnswer(gv schema.GroupVersion, body []byte) error {
	return i.wrote(source.Answer{Body: body, GroupVersion: gv}, Key{})
}

// report implements OwnWriter.
func (i *Informer[T]) report(err error) { i.opts.OnError(err) }
