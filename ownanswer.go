package kinglet

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source"
)

// clientWrite is a request that writes.
type clientWrite struct {
	resource schema.GroupVersionResource
	key      Key // of one object; no name for a create or a collection
	delete   bool
	// scale is set if the answer has the object's name and version, but another type.
	scale bool
}

// answeredWithObject are the subresources whose answer is the object itself.
var answeredWithObject = []string{"", "status", "ephemeralcontainers", "resize", "approval", "finalize"}

// writeOf returns what a request writes; ok is false if it writes nothing that an
// informer could record. known reports the resources that have an informer.
func writeOf(req *http.Request, known func(schema.GroupResource) bool) (w clientWrite, ok bool) {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	case http.MethodDelete:
		w.delete = true
	default:
		return w, false
	}
	if req.URL.Query().Get("dryRun") != "" || req.Context().Value(withoutOwnWrites{}) != nil {
		return w, false
	}
	resource, key, sub, ok := source.ObjectOf(req.URL.Path, known)
	w.scale = sub == "scale"
	if !ok || !w.scale && !slices.Contains(answeredWithObject, sub) {
		return w, false
	}
	w.resource, w.key = resource, key
	if w.delete && (sub != "" || dryDelete(req)) {
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
func (w *clientWrite) record(own *OwnWrites, i ownInformer, body []byte) {
	var err error
	unread := w.scale || w.resource.Version != i.version
	switch {
	case w.delete && w.key.Name == "":
		w.unread(own, i, source.AnswerMetadata(body), true)
		return
	case w.delete:
		status, uid, gone := source.DeleteAnswer(body)
		switch {
		case gone && uid != "":
			err, unread = i.informer.WroteDelete(w.key, uid), false
		case gone:
			// The answer does not say which object it was.
			w.unread(own, i, []metav1.ObjectMeta{{Namespace: w.key.Namespace, Name: w.key.Name}}, true)
			return
		case status:
			return
		case !unread:
			err = i.informer.wroteAnswer(w.resource.GroupVersion(), body)
		}
	case !unread:
		err = i.informer.wroteAnswer(w.resource.GroupVersion(), body)
	}
	if _, otherKind := errtype.As[*source.KindError](err); otherKind || errors.Is(err, source.ErrNoAnswers) {
		unread = true
	}
	switch {
	case unread:
		if objects := source.AnswerMetadata(body); len(objects) > 0 {
			w.unread(own, i, objects, false)
		}
	case err == nil, errors.Is(err, ErrNotCovered), errors.Is(err, ErrNotRunning), errors.Is(err, ErrStopped):
		// It is recorded, or does not concern the informer.
	default:
		i.informer.report(err)
	}
}

// unread calls OwnWrites.Unread.
func (w *clientWrite) unread(own *OwnWrites, i ownInformer, objects []metav1.ObjectMeta, deleted bool) {
	if own.Unread != nil {
		own.Unread(UnreadWrite{
			Informer: i.informer, Resource: w.resource, Namespace: w.key.Namespace, Deleted: deleted, Objects: objects,
		})
	}
}

// wroteAnswer implements OwnWriter.
func (i *Informer[T]) wroteAnswer(gv schema.GroupVersion, body []byte) error {
	return i.wrote(source.Answer{Body: body, GroupVersion: gv}, Key{})
}

// report implements OwnWriter.
func (i *Informer[T]) report(err error) { i.opts.OnError(err) }
