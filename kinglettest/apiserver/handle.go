package apiserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxBody is the largest body of a request, as on a real server.
const maxBody = 3 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.next().handle(w, r)
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	accept := r.Header.Get("Accept")
	if !s.authorized(r) {
		s.answerError(ctx, w, statusForm(accept), &Fault{}, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if s.discover(ctx, w, r) {
		return
	}
	c, err := s.parse(r)
	if err != nil {
		s.answerError(ctx, w, statusForm(accept), &Fault{}, err)
		return
	}
	c.fault = s.inject(&c.Request)
	if c.fault.Delay > 0 {
		t := time.NewTimer(c.fault.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
	switch {
	case c.fault.Refuse:
		s.conns.cut(ctx)
		return
	case c.fault.Answer != nil:
		err = c.fault.Answer
	case c.Verb == "watch":
		err = s.serveWatch(ctx, w, r, c)
	default:
		err = s.serveOnce(ctx, w, r, c)
	}
	if err != nil && ctx.Err() == nil {
		s.answerError(ctx, w, statusForm(accept), c.fault, err)
	}
}

// serveOnce answers everything but a watch.
func (s *Server) serveOnce(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call) error {
	code := http.StatusOK
	var obj runtime.Object
	var err error
	switch c.Verb {
	case "list":
		obj, err = s.listObject(ctx, c)
	case "get":
		obj, err = s.get(c)
	case "create":
		code = http.StatusCreated
		obj, err = s.write(r, c, s.storage.create)
	case "update":
		obj, err = s.write(r, c, s.storage.update)
	case "patch":
		obj, code, err = s.patch(r, c)
	case "delete":
		obj, err = s.remove(r, c)
	case "deletecollection":
		obj, err = s.removeAll(ctx, r, c)
	}
	if err != nil {
		return err
	}
	if c.Verb != "list" && c.Verb != "deletecollection" {
		obj = c.form.shape(obj)
	}
	return s.answer(ctx, w, r, c.form, c.fault, code, obj)
}

func (s *Server) listObject(ctx context.Context, c *call) (runtime.Object, error) {
	p, err := s.list(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.fault.Replace != nil {
		for i, it := range p.items {
			if r := c.fault.Replace(it); r != nil {
				p.items[i] = r
			}
		}
	}
	return c.listOf(p)
}

// listOf returns a page in the form that was asked for.
func (c *call) listOf(p *page) (runtime.Object, error) {
	return c.form.list(&c.resource, p.items, metav1.ListMeta{
		ResourceVersion: strconv.FormatInt(p.revision, 10), Continue: p.next, RemainingItemCount: p.left,
	})
}

func (s *Server) get(c *call) (runtime.Object, error) {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	if col := s.storage.resources[c.Resource]; col != nil {
		if obj := col.current[c.key()]; obj != nil {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(c.Resource, c.Name)
}

// write reads the object of a request and stores it.
func (s *Server) write(r *http.Request, c *call, store func(runtime.Object, intent) (runtime.Object, error)) (runtime.Object, error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	gvk := c.resource.gvk()
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(b, &gvk, c.resource.newObject())
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.resource.Kind, err, head(b)))
	}
	m := metaOf(obj)
	if m.GetNamespace() == "" {
		m.SetNamespace(c.Namespace)
	}
	switch {
	case m.GetNamespace() != c.Namespace:
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case c.Name != "" && m.GetName() == "":
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.Name))
	case c.Name != "" && m.GetName() != c.Name:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), c.Name))
	}
	return store(obj, c.intent())
}

// head is the part of a body that an error message shows.
func head(b []byte) []byte { return b[:min(len(b), 1024)] }

func (s *Server) remove(r *http.Request, c *call) (runtime.Object, error) {
	opts, err := c.readDelete(r)
	if err != nil {
		return nil, err
	}
	return s.storage.remove(c.Resource, c.key(), opts.Preconditions, c.dry)
}

// removeAll lists what a request selects, deletes it one by one up to the first error, and
// returns the list. Of a list with a limit that is one page: DeleteCollection in
// k8s.io/apiserver/pkg/registry/generic/registry.
func (s *Server) removeAll(ctx context.Context, r *http.Request, c *call) (runtime.Object, error) {
	opts, err := c.readDelete(r)
	if err != nil {
		return nil, err
	}
	p, err := s.list(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, obj := range p.items {
		if _, err := s.storage.remove(c.Resource, keyOf(obj), opts.Preconditions, c.dry); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return c.listOf(p)
}

// answer sends one object.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, f form, fault *Fault, code int, obj runtime.Object) error {
	var b bytes.Buffer
	if err := f.encode(&b, obj); err != nil {
		return err
	}
	raw := b.Bytes()
	if fault.Damage != nil {
		var err error
		if raw, err = f.damageList(raw, obj, fault.Damage); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", f.info.MediaType)
	if len(raw) >= s.opts.GzipAbove && acceptsGzip(r) {
		var z bytes.Buffer
		zw := gzip.NewWriter(&z)
		if _, err := zw.Write(raw); err != nil {
			return err
		}
		if err := zw.Close(); err != nil {
			return err
		}
		raw = z.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	out := s.body(ctx, w, fault)
	if _, err := out.Write(raw); err == nil {
		_ = out.flush() // an error means that the other side has left
	}
	return nil
}

// answerError sends a Status.
func (s *Server) answerError(ctx context.Context, w http.ResponseWriter, f form, fault *Fault, err error) {
	st := statusOf(err)
	if d := st.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	var b bytes.Buffer
	if err := f.encode(&b, st); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", f.info.MediaType)
	w.WriteHeader(int(st.Code))
	_, _ = s.body(ctx, w, &Fault{Trickle: fault.Trickle, TrickleEvery: fault.TrickleEvery}).Write(b.Bytes())
}

// statusOf returns an error as API servers send it.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	st := metav1.Status{}
	if errors.As(err, &api) {
		st = api.Status()
	} else {
		st.Code, st.Message = http.StatusInternalServerError, err.Error()
	}
	st.Kind, st.APIVersion, st.Status = "Status", "v1", metav1.StatusFailure
	return &st
}
