package apiserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
		obj, err = s.get(ctx, c)
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
	// A Status is answered as it is, whatever form was asked for.
	if _, is := obj.(*metav1.Status); !is && c.Verb != "list" && c.Verb != "deletecollection" {
		if err := c.form.isFor(&c.resource, false); err != nil {
			return err
		}
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

// get answers from the storage, or with a resourceVersion what the server has when it has come
// to it.
func (s *Server) get(ctx context.Context, c *call) (runtime.Object, error) {
	at := int64(math.MaxInt64)
	if c.Options.ResourceVersion != "" {
		rv, err := revision(c.Options.ResourceVersion)
		if err == nil {
			at, err = s.waitFor(ctx, rv)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.storage.get(c.Resource, c.key(), at)
}

// write reads the object of a request and stores it.
func (s *Server) write(r *http.Request, c *call, store func(runtime.Object, intent) (runtime.Object, error)) (runtime.Object, error) {
	b, err := readBody(r)
	if err != nil {
		return nil, err
	}
	obj, gvk, err := c.decode(r.Header.Get("Content-Type"), b)
	if err != nil {
		return nil, c.undecodable(err, gvk, b)
	}
	if err := c.addressed(metaOf(obj)); err != nil {
		return nil, err
	}
	return store(obj, c.intent())
}

// addressed gives an object the namespace of the request if it has none, and refuses another
// name or namespace than those of the request.
func (c *call) addressed(m metav1.Object) error {
	if m.GetNamespace() == "" || c.Namespace == "" {
		m.SetNamespace(c.Namespace)
	}
	switch {
	case m.GetNamespace() != c.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case c.Name != "" && m.GetName() == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.Name))
	case c.Name != "" && m.GetName() != c.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), c.Name))
	}
	return nil
}

// remove deletes an object. Of what is gone then, most kinds answer with a Status: finalizeDelete
// in k8s.io/apiserver/pkg/registry/generic/registry.
func (s *Server) remove(r *http.Request, c *call) (runtime.Object, error) {
	opts, err := c.readDelete(r)
	if err != nil {
		return nil, err
	}
	obj, err := s.storage.remove(c.Resource, c.key(), opts.Preconditions, c.dry)
	if err != nil {
		return nil, err
	}
	m := metaOf(obj)
	if len(m.GetFinalizers()) > 0 || c.resource.returnsDeleted() {
		return obj, nil
	}
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: m.GetName(), Group: c.Resource.Group, Kind: c.Resource.Resource, UID: m.GetUID()},
	}, nil
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
