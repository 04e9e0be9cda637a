package ctrlruntime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
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

// listedIn blocks until the objects of a namespace have been listed or, with
// metav1.NamespaceAll, those of all namespaces. The error is errReplaced if the spaces
// are replaced meanwhile.
func (h *holding) listedIn(ctx context.Context, s *spaces, ns string) error {
	if s.all.Load() {
		return nil
	}
	if id, _, known := s.settings(ns); known && ns != metav1.NamespaceAll {
		return h.listedUnder(ctx, s, id)
	}
	for id := range s.configs {
		if err := h.listedUnder(ctx, s, id); err != nil {
			return err
		}
	}
	s.all.Store(true)
	return nil
}

// listedUnder blocks until the scope of an ID has been listed.
func (h *holding) listedUnder(ctx context.Context, s *spaces, id string) error {
	listed, kept := s.kept[id]
	if !kept {
		if err := h.await(ctx, s, id, s.applied); err != nil {
			return err
		}
		listed = s.listed[id]
	}
	return h.await(ctx, s, id, listed)
}

func (h *holding) await(ctx context.Context, s *spaces, id string, done <-chan struct{}) error {
	reason := kinglet.ErrStopped
	select {
	case <-done:
		return nil
	case <-s.replaced:
		reason = errReplaced
	case <-h.ended:
	case <-ctx.Done():
		reason = context.Cause(ctx)
	}
	select {
	case <-done: // done counts if several have happened
		return nil
	default:
	}
	if reason == errReplaced {
		return errReplaced
	}
	failed := h.unlisted(reason)
	if one, ok := h.informer.Kinglet().SourceStatus(id); ok {
		failed.Phase, failed.LastError = one.Phase, one.LastError
	}
	return failed
}

// unlisted returns the error of a wait that ended before a list did.
func (h *holding) unlisted(reason error) *kinglet.NotSyncedError {
	st := h.informer.Status()
	return &kinglet.NotSyncedError{Name: st.Name, Phase: st.Phase, LastError: st.LastError, Err: reason}
}
