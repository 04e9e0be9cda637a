package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/reflector"
)

// spaces are the namespaces of a holding at one time, with their settings. They are not
// changed, but replaced: see namespaces.go.
type spaces struct {
	kindSettings
	// scopes are the informer's scopes, by namespace.
	scopes map[string]kingletcache.ScopedListerWatcher
	// kept are the channels of listed that are taken over from the previous spaces.
	kept map[string]<-chan struct{}
	// applied is closed when the informer has the scopes, and listed is set. A channel
	// of listed is closed when the objects of its namespace have been listed.
	applied chan struct{}
	listed  map[string]<-chan struct{}
	// replaced is closed when there are other spaces.
	replaced chan struct{}
	// all is set once everything has been listed.
	all atomic.Bool
}

// settings returns the settings of a namespace. known is false if its objects are not
// held.
func (s *spaces) settings(ns string) (id string, config *cache.Config, known bool) {
	if config, ok := s.configs[ns]; ok {
		return ns, config, true
	}
	if config, ok := s.configs[metav1.NamespaceAll]; ok {
		return metav1.NamespaceAll, config, true
	}
	return "", nil, false
}

// scope returns the part of the store that the settings under ns apply to.
func (s *spaces) scope(ns string) kinglet.Scope {
	if ns != metav1.NamespaceAll {
		return kinglet.NamespaceScope(ns)
	}
	if len(s.configs) == 1 {
		return kinglet.Scope{}
	}
	configs := s.configs
	return kinglet.Scope{Contains: func(key kinglet.Key) bool {
		_, named := configs[key.Namespace]
		return !named || key.Namespace == metav1.NamespaceAll
	}}
}

// inOrder returns the scopes in the order of their IDs.
func (s *spaces) inOrder() []kingletcache.ScopedListerWatcher {
	var scopes []kingletcache.ScopedListerWatcher
	for _, id := range slices.Sorted(maps.Keys(s.scopes)) {
		scopes = append(scopes, s.scopes[id])
	}
	return scopes
}

// errReplaced means that the spaces that a read waited for have been replaced.
var errReplaced = errors.New("the namespaces of the kind have changed")

// UnlistableError reports a read of a kind that the server does not list: it has
// answered two lists in a row with 404 or 405. A reader that waited for the list would
// wait for ever.
type UnlistableError struct {
	// Kind is what was to be read, and Resource what was to be listed for it.
	Kind     schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// Err is the server's last answer. It is not unwrapped: a NotFound for the resource
	// says nothing about an object.
	Err error
}

// Error implements error.
func (e *UnlistableError) Error() string {
	return fmt.Sprintf("%s cannot be read from a cache, because the server does not list %s: %v (read it live: by the manager's API reader, or with the kind in client.CacheOptions.DisableFor)",
		e.Kind, e.Resource.GroupResource(), e.Err)
}

// listedIn blocks until the objects of a namespace have been listed or, with
// metav1.NamespaceAll, those of all namespaces. The error is errReplaced if the spaces
// are replaced meanwhile. For a read, it is a *UnlistableError if the server does not
// list the kind.
func (h *holding) listedIn(ctx context.Context, s *spaces, ns string, forRead bool) error {
	if s.all.Load() {
		return nil
	}
	if id, _, known := s.settings(ns); known && ns != metav1.NamespaceAll {
		return h.listedUnder(ctx, s, id, forRead)
	}
	for id := range s.configs {
		if err := h.listedUnder(ctx, s, id, forRead); err != nil {
			return err
		}
	}
	s.all.Store(true)
	return nil
}

// listedUnder blocks until the scope of an ID has been listed.
func (h *holding) listedUnder(ctx context.Context, s *spaces, id string, forRead bool) error {
	listed, kept := s.kept[id]
	if !kept {
		if err := h.await(ctx, s, id, s.applied, forRead); err != nil {
			return err
		}
		listed = s.listed[id]
	}
	return h.await(ctx, s, id, listed, forRead)
}

// lookEvery is how often a read that waits looks whether the server refuses the list.
const lookEvery = 100 * time.Millisecond

func (h *holding) await(ctx context.Context, s *spaces, id string, done <-chan struct{}, forRead bool) error {
	select {
	case <-done:
		return nil
	default:
	}
	var reason error
	var look <-chan time.Time
	if forRead {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look, reason = ticker.C, h.refused(id)
	}
	for reason == nil {
		select {
		case <-done:
			return nil
		case <-s.replaced:
			reason = errReplaced
		case <-h.ended:
			reason = kinglet.ErrStopped
		case <-ctx.Done():
			reason = context.Cause(ctx)
		case <-look:
			reason = h.refused(id)
		}
	}
	select {
	case <-done: // done counts if several have happened
		return nil
	default:
	}
	if _, refused := reason.(*UnlistableError); refused || reason == errReplaced {
		return reason
	}
	failed := h.unlisted(reason)
	if one, ok := h.informer.Kinglet().SourceStatus(id); ok {
		failed.Phase, failed.LastError = one.Phase, one.LastError
	}
	return failed
}

// refused returns a *UnlistableError if the server has refused the last two lists of a
// scope, and nil otherwise. One refusal may be from a server that does not know a new
// definition yet, and a 403 may be followed by a grant.
func (h *holding) refused(id string) error {
	st, ok := h.informer.Kinglet().SourceStatus(id)
	if !ok {
		st = h.informer.Kinglet().Status().Status
	}
	missing := apierrors.IsNotFound(st.LastError) || apierrors.IsMethodNotSupported(st.LastError)
	if !missing || !st.LastErrorTime.After(st.FailingSince) {
		return nil
	}
	err := st.LastError
	if failed, ok := errors.AsType[*reflector.Error](err); ok {
		err = failed.Err
	}
	return &UnlistableError{Kind: h.gvk, Resource: h.gvk.GroupVersion().WithResource(h.lists.Load().resource), Err: err}
}

// unlisted returns the error of a wait that ended before a list did.
func (h *holding) unlisted(reason error) *kinglet.NotSyncedError {
	st := h.informer.Status()
	return &kinglet.NotSyncedError{Name: st.Name, Phase: st.Phase, LastError: st.LastError, Err: reason}
}
