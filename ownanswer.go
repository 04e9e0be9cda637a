package kinglet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/own"
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
	// otherVersion is set if the request was in another API version than the informer's.
	otherVersion bool
	// sent is when the request was sent.
	sent time.Time
	// told: it was recorded by Wrote, whose caller vouches for the version. from has the
	// resource version that the request names, if any.
	told bool
	from own.From
}

// madeVersion reports whether the write is known to have made a version. One that changes
// nothing is answered with the version that the last other write to the object has made, which
// the informer need not have seen. A request that names a version is answered with that one
// then. Nothing else tells it apart.
func (w *clientWrite) madeVersion(version string) bool {
	from := w.from.Version
	return w.told || w.from.Created || from != "" && from != "0" && from != version // "0" stands for any
}

// versionIn returns the resource version that a request names; empty if that is not known.
func versionIn(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		return ""
	}
	return source.RequestVersion(b)
}

// answeredWithObject are the subresources whose answer is the object itself.
var answeredWithObject = []string{"", "status", "ephemeralcontainers", "resize", "approval", "finalize"}

// writeOf returns what a request writes, whose path on its server is path; ok is false if it
// writes nothing that an informer could record. known reports the resources that have an informer.
func writeOf(req *http.Request, path string, known func(schema.GroupResource) bool) (w clientWrite, ok bool) {
	switch req.Method {
	case http.MethodPost:
		w.from.Created = true
	case http.MethodPut, http.MethodPatch:
	case http.MethodDelete:
		w.delete = true
	default:
		return w, false
	}
	if req.URL.Query().Get("dryRun") != "" || req.Context().Value(withoutOwnWrites{}) != nil {
		return w, false
	}
	resource, key, sub, ok := source.ObjectOf(path, known)
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

func (i *Informer[T]) noticed(at time.Time) { _ = i.own.Noticed(at) }

func (i *Informer[T]) report(err error) { i.opts.OnError(err) }

func (i *Informer[T]) answered(w *clientWrite, body []byte, list func() (whatIsLeft, error)) (err error) {
	switch {
	case w.delete && w.key.Name == "":
		err = i.deletedMany(w, body, list)
	case w.delete:
		err = i.deletedOne(w, body, list)
	default:
		err = i.wroteOne(w, body)
	}
	switch {
	case errors.Is(err, ErrNotCovered), errors.Is(err, ErrNotRunning), errors.Is(err, ErrStopped):
		return nil // it does not concern the informer, or AwaitOwnWrites waits for it
	}
	return err
}

// wroteOne records the answer to a create, an update, a patch or an apply.
func (i *Informer[T]) wroteOne(w *clientWrite, body []byte) error {
	if w.resource.GroupResource() == corev1.Resource("namespaces") {
		// Informers without specs cannot tell whether this was the last finalizer.
		if d := source.DeleteAnswer(w.resource.GroupResource(), body); d.Gone && !d.Status && w.key.Name != "" {
			return i.notWritten(w.key, i.removed(w.key, own.Removal{UID: d.UID, Version: d.Version, Sent: w.sent}))
		}
	}
	if !w.scale && !w.otherVersion {
		err := i.wrote(source.Answer{Body: body, Resource: w.resource}, w.key, w)
		if _, otherKind := errtype.As[*source.KindError](err); !otherKind && !errors.Is(err, source.ErrNoAnswers) {
			return err
		}
	}
	if objects := source.AnswerMetadata(body); len(objects) == 1 {
		m := &objects[0]
		return i.wrote(source.Answer{Metadata: m, Resource: w.resource, NoLabels: w.scale}, Key{Namespace: m.Namespace, Name: m.Name}, w)
	}
	return nil // it is no object
}

// deletedOne records the answer to the delete of one object. Most have no version: if the
// informer has not seen the object, deletedOne lists what is under its name now.
func (i *Informer[T]) deletedOne(w *clientWrite, body []byte, list func() (whatIsLeft, error)) error {
	d := source.DeleteAnswer(w.resource.GroupResource(), body)
	switch {
	case !d.Gone && d.Status:
		return nil
	case !d.Gone:
		return i.wroteOne(w, body)
	}
	if !d.Status && w.resource.GroupResource() == corev1.Resource("namespaces") {
		// The server answers with the namespace whether it has marked it or removed it.
		left, err := list()
		if err != nil {
			return i.notWritten(w.key, fmt.Errorf("the answer does not tell whether a delete has marked or removed it, and reads may be older than that: %w", err))
		}
		if now := byUID(left.objects)[d.UID]; now != nil {
			return i.wrote(source.Answer{Metadata: now, Resource: w.resource}, w.key, w)
		}
	}
	// Without a UID, the answer does not say which object it was: wait until the one that
	// reads show is gone.
	m := own.Removal{UID: d.UID, Version: d.Version, Marked: d.UID == "", NeedsVersion: d.UID != "" && d.Version == "", Sent: w.sent}
	err := i.removed(w.key, m)
	if errors.Is(err, own.ErrUnseen) {
		m.NeedsVersion = false
		left, unlisted := list()
		if unlisted == nil {
			m.Version = left.version
			for n := range left.objects {
				m.Version, m.Live = left.objects[n].ResourceVersion, left.objects[n].UID
			}
			m.Gone = m.Live != m.UID
		} else {
			unlisted = fmt.Errorf("the answer to a delete has no version, and reads may wait if the object is made anew: %w", unlisted)
		}
		err = errors.Join(i.removed(w.key, m), unlisted)
	}
	if errors.Is(err, ErrUnknownKey) {
		return nil
	}
	return i.notWritten(w.key, err)
}

// deletedMany records the answer to the deletion of a collection: the objects as they
// were, of which some are gone and some are marked for deletion. If the answer does not
// list them, if they were marked before, or if the informer's objects do not show that,
// deletedMany lists what is left.
func (i *Informer[T]) deletedMany(w *clientWrite, body []byte, list func() (whatIsLeft, error)) error {
	if err := i.own.Noticed(time.Now()); err != nil {
		return err
	}
	var errs []error
	if objects := source.AnswerMetadata(body); objects != nil {
		var left map[types.UID]*metav1.ObjectMeta
		var unlisted error
		for n := range objects {
			m := &objects[n]
			if m.DeletionTimestamp == nil && i.showsDeletion(Key{Namespace: m.Namespace, Name: m.Name}) {
				errs = append(errs, i.deletedOf(m, w.sent, true))
				continue
			}
			// It may be gone now, end sooner than before, or have a finalizer of the garbage
			// collector, by the request's propagation policy or the kind's.
			if left == nil {
				var now whatIsLeft
				if now, unlisted = list(); unlisted != nil {
					errs = append(errs, i.notListed(w, unlisted))
				}
				left = byUID(now.objects)
			}
			if unlisted != nil {
				continue
			}
			now := left[m.UID]
			if now == nil {
				errs = append(errs, i.deletedOf(m, w.sent, false))
				continue
			}
			// Reads may not show yet that it is marked.
			err := i.wrote(source.Answer{Metadata: now, Resource: w.resource}, Key{Namespace: now.Namespace, Name: now.Name}, w)
			if !errors.Is(err, ErrNotCovered) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	// Taken before the server is asked: its answer does not include later objects either.
	before := i.Snapshot()
	now, err := list()
	if err != nil {
		return i.notListed(w, err)
	}
	left := byUID(now.objects)
	for n := range now.objects {
		m := &now.objects[n]
		if m.DeletionTimestamp != nil {
			key := Key{Namespace: m.Namespace, Name: m.Name}
			if _, shown := before.Get(key); shown {
				errs = append(errs, i.wrote(source.Answer{Metadata: m, Resource: w.resource}, key, w))
			}
		}
	}
	for obj := range before.Prefix(Key{Namespace: w.key.Namespace}) {
		uid := i.opts.UID(obj)
		key, err := i.store.KeyOf(obj)
		is := func(m metav1.ObjectMeta) bool { return m.Namespace == key.Namespace && m.Name == key.Name }
		switch {
		case left[uid] != nil || err == nil && uid == "" && slices.ContainsFunc(now.objects, is):
			continue
		case err == nil:
			err = i.removed(key, own.Removal{UID: uid, Missed: true, Sent: w.sent})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func byUID(objects []metav1.ObjectMeta) map[types.UID]*metav1.ObjectMeta {
	m := make(map[types.UID]*metav1.ObjectMeta, len(objects))
	for n := range objects {
		m[objects[n].UID] = &objects[n]
	}
	return m
}

// notListed returns the error for a deleted collection of which it is not known what is left.
func (i *Informer[T]) notListed(w *clientWrite, err error) error {
	return i.notWritten(w.key, fmt.Errorf("a collection was deleted, and reads may be older than that: %w", err))
}

// deletedOf records that an object is gone or, if marked is set, was deleted or only marked for
// deletion. m is what it was before.
func (i *Informer[T]) deletedOf(m *metav1.ObjectMeta, sent time.Time, marked bool) error {
	key := Key{Namespace: m.Namespace, Name: m.Name}
	was, err := i.readAnswer(source.Answer{Metadata: m}, key)
	switch {
	case errors.Is(err, ErrNotCovered):
		return nil
	case err != nil:
		return i.notWritten(key, err)
	case was.Coverage == source.NotCovered:
		// It was not in the collection, although the store may still have it.
		return i.notWritten(key, i.own.Wrote(own.Write[T]{Key: was.Key, UID: was.UID, Version: was.ResourceVersion, Sent: sent, Time: time.Now()}, was.Coverage))
	}
	return i.notWritten(key, i.removed(was.Key, own.Removal{UID: was.UID, Version: was.ResourceVersion, Marked: marked, Missed: !marked, Sent: sent}))
}

// showsDeletion reports whether the object of a key shows that it is marked for deletion: a
// transform may leave that out.
func (i *Informer[T]) showsDeletion(key Key) bool {
	src := i.sources.sourceOf(key)
	return src == nil || !src.Source.Traits().Mapped
}

// deleting reports whether an object shows that it is marked for deletion, and stays: a server
// marks what nothing holds in one version, with a grace period of 0, and removes it in the next.
// Without a grace period, a mark may be that of an aggregated server, such as of OpenShift's
// projects, which have no finalizers either.
func deleting[T any](obj T) bool {
	m, ok := any(obj).(metav1.Object)
	if !ok || m.GetDeletionTimestamp() == nil {
		return false
	}
	grace := m.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace > 0 || len(m.GetFinalizers()) > 0
}
