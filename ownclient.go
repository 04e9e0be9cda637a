package kinglet

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/roundtrip"
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
// Some answers do not tell what the informer will have: metadata alone for an informer of
// whole objects, protobuf for one of unstructured objects, another API version of the
// resource, events of the other group, the answer to a scale, a field selector that depends
// on what the object does not have, and the deletion of a collection.
// [Informer.AwaitOwnWrites] then waits until the watch has shown the write.
//
// Two resources that an aggregated server makes of the same objects, such as OpenShift's
// projects and namespaces, are two: writes to one are not recorded for the other.
//
// An informer, or a source, that begins within two minutes after a write to its resource
// lists the latest state first, so that its reads are not older than the write.
//
// Dry runs are not recorded, nor are answers that are errors, requests under
// WithoutOwnWrites, requests through the proxy subresource of an object, which are for another
// server unless Host says otherwise, and subresources that answer with another type, except
// scale: eviction, binding, token. An answer in CBOR, which client-go requests only behind alpha
// feature gates, is an error for OnError, and not recorded either.
//
// Some deletions are followed by a list of what they have left, within the request, for which
// the client needs the verb list; if it fails, OnError is called. After the delete of one object
// that an informer has not seen, or of which a transform leaves the UID out, its name is
// listed, for at most two seconds: the answer has no version, and reads would wait if the
// object was made anew. So is that of a namespace without finalizers, which may be marked or
// gone. After the deletion of a collection all of it is, for at most ten seconds,
// if the answer does not list what was deleted, some of it was marked for deletion before, or a
// Map makes the informer's objects.
//
// It costs the memory of the answer, and of the body of an update or a patch, once more,
// and about ten to a hundred microseconds of decoding for each write and informer. The zero
// value is ready to use. All methods are safe for concurrent use.
type OwnWrites struct {
	// Host is the rest.Config.Host of the clients. It is needed only if their API server is
	// itself behind the proxy subresource of an object, as Karmada's and Clusternet's member
	// clusters are. It must be set before Wrap is called.
	Host string

	mu sync.RWMutex
	// What follows is by resource, and guarded by mu. written is when the program last
	// wrote to it.
	informers map[schema.GroupResource][]ownInformer
	written   map[schema.GroupResource]time.Time
}

// ownInformer is an informer of a resource in a version.
type ownInformer struct {
	version  schema.GroupVersion
	informer OwnWriter
}

// storedAs returns the resource as which a server stores the objects of another. Since
// Kubernetes 1.22, events are the only ones in two groups.
func storedAs(r schema.GroupResource) schema.GroupResource {
	if r == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		r.Group = ""
	}
	return r
}

// OwnWriter is an Informer of any type.
type OwnWriter interface {
	Runnable
	// WroteDelete is Informer.WroteDelete.
	WroteDelete(key Key, uid types.UID) error
	// noticed records when the program last wrote to the resource.
	noticed(at time.Time)
	// answered records the answer to a write. list lists what a deletion has left.
	answered(w *clientWrite, body []byte, list func() (whatIsLeft, error)) error
	// report calls OnError.
	report(err error)
}

var _ OwnWriter = (*Informer[any])(nil)

// withoutOwnWrites is the key of a context's value.
type withoutOwnWrites struct{}

// WithoutOwnWrites returns a context whose requests OwnWrites does not record, and with
// which OnDemand.Get does not wait for those that it has recorded.
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
	gr := storedAs(resource.GroupResource())
	all := slices.Clip(o.informers[gr])
	for _, i := range informers {
		all = append(all, ownInformer{resource.GroupVersion(), i})
		i.noticed(o.written[gr])
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

// knows reports whether informers were added for a resource.
func (o *OwnWrites) knows(resource schema.GroupResource) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.informers[storedAs(resource)]) > 0
}

// wrote records that a resource has been written to, and returns its informers: an
// informer that is added later learns it from Add.
func (o *OwnWrites) wrote(resource schema.GroupResource) []ownInformer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written == nil {
		o.written = map[schema.GroupResource]time.Time{}
	}
	o.written[resource] = time.Now()
	return o.informers[resource]
}

// Wrap returns a transport that sends requests through rt and records the writes among
// them. It is meant for rest.Config.Wrap.
func (o *OwnWrites) Wrap(rt http.RoundTripper) http.RoundTripper {
	t := &ownTransport{own: o, next: rt}
	// With an invalid Host there is no client. Clients clean paths.
	if host, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: o.Host}); err == nil {
		t.base = strings.TrimSuffix(path.Join("/", host.Path), "/")
	}
	return t
}

type ownTransport struct {
	own  *OwnWrites
	next http.RoundTripper
	// base is the path of the server.
	base string
	// warned is done once a write has been left out because of a proxy.
	warned sync.Once
}

// WrappedRoundTripper returns the transport below, for client-go.
func (t *ownTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *ownTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	at, under := strings.CutPrefix(req.URL.Path, t.base)
	if under = under && strings.HasPrefix(at, "/"); !under {
		at = req.URL.Path
	}
	w, ok := writeOf(req, at, t.own.knows)
	if !ok {
		if t.own.Host == "" || !under {
			t.warn(req)
		}
		return t.next.RoundTrip(req)
	}
	w.sent = time.Now()
	resp, err := roundtrip.Do(t.next, req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, err
	}
	// An informer that was added since the request was sent may have listed before the
	// write.
	informers := t.own.wrote(storedAs(w.resource.GroupResource()))
	if len(informers) == 0 {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	again := io.Reader(bytes.NewReader(body))
	if err != nil {
		// The client reads what arrived, and then gets the same error.
		again = io.MultiReader(again, failingReader{err})
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{again, resp.Body}
	if err != nil {
		return resp, nil
	}
	if !w.from.Created && !w.delete {
		w.from.Version = versionIn(req)
	}
	plain, unread := decompressed(body, resp.Header.Get("Content-Encoding"))
	list := sync.OnceValues(func() (whatIsLeft, error) { return t.list(req, w.key.Name) })
	for _, i := range informers {
		w.otherVersion = w.resource.GroupVersion() != i.version
		err := unread
		if err == nil {
			err = i.informer.answered(&w, plain, list)
		}
		if err != nil {
			i.informer.report(err)
		}
	}
	return resp, nil
}

// warn reports a write that may be to the informers' server, and is left out because of the
// proxy that it goes through.
func (t *ownTransport) warn(req *http.Request) {
	proxy, at, through := strings.Cut(req.URL.Path, "/proxy/")
	if !through {
		return
	}
	w, ok := writeOf(req, "/"+at, t.own.knows)
	if !ok || !t.own.knows(w.resource.GroupResource()) {
		return
	}
	t.warned.Do(func() {
		t.own.mu.RLock()
		informers := t.own.informers[storedAs(w.resource.GroupResource())]
		t.own.mu.RUnlock()
		err := fmt.Errorf("own writes: those to %s through %s/proxy are not recorded, as they may be to another server; if it is the informers' own, set OwnWrites.Host", w.resource.GroupResource(), proxy)
		for _, i := range informers {
			i.informer.report(err)
		}
	})
}

// decompressed returns a body without its encoding, which net/http leaves on an answer if
// a wrapper has asked for compression itself.
func decompressed(body []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
		return body, err
	}
	return nil, fmt.Errorf("own writes: the answer to one is encoded as %q, and reads may be older than it", encoding)
}

// How long a deletion takes longer for the list of what is left.
const (
	mostListing = 10 * time.Second // of a collection
	mostAsking  = 2 * time.Second  // of one object
)

// whatIsLeft is what a server has after a deletion.
type whatIsLeft struct {
	objects []metav1.ObjectMeta
	version string // of the list
}

// list requests the metadata of what a request deleted from, without its selectors, or of what
// has the name of the one object that it deleted. A server that is busy is asked again.
func (t *ownTransport) list(deletion *http.Request, name string) (left whatIsLeft, err error) {
	most := mostListing
	query := url.Values{"limit": {"500"}}
	if name != "" {
		most = mostAsking
		query.Set("fieldSelector", fields.OneTermEqualSelector("metadata.name", name).String())
	}
	ctx, cancel := context.WithTimeout(deletion.Context(), most)
	defer cancel()
	for {
		var page metav1.PartialObjectMetadataList
		status, err := t.listOnce(ctx, deletion, name != "", query, &page)
		switch {
		case err == nil:
		case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			select {
			case <-time.After(most / 20):
				continue
			case <-ctx.Done():
			}
			return whatIsLeft{}, err
		case status == http.StatusBadRequest && query.Has("fieldSelector"):
			query.Del("fieldSelector") // some extension servers have none
			continue
		default:
			return whatIsLeft{}, err
		}
		left.version = page.ResourceVersion
		for i := range page.Items {
			if name == "" || page.Items[i].Name == name { // or ignore it
				left.objects = append(left.objects, page.Items[i].ObjectMeta)
			}
		}
		if page.Continue == "" {
			return left, nil
		}
		query.Set("continue", page.Continue)
	}
}

// listOnce requests a page of the collection that a request deleted from, or of that of the one
// object that it deleted.
func (t *ownTransport) listOnce(ctx context.Context, deletion *http.Request, one bool, query url.Values, page *metav1.PartialObjectMetadataList) (status int, err error) {
	req := deletion.Clone(ctx)
	req.Method, req.Body, req.GetBody, req.ContentLength = http.MethodGet, nil, nil, 0
	req.Header.Del("Content-Type")
	req.Header.Del("Accept-Encoding") // net/http asks for it, and undoes it
	req.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	if one {
		req.URL = req.URL.JoinPath("..")
	}
	req.URL.RawQuery = query.Encode()
	resp, err := roundtrip.Do(t.next, req)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, page)
	}
	if err == nil && !strings.HasSuffix(page.Kind, "List") {
		err = fmt.Errorf("the server answered a list with %s and %q", resp.Status, page.Kind)
	}
	return resp.StatusCode, err
}

// failingReader fails.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
