package kinglet

import (
	"github.com/kinglet-go/kinglet/internal/engine/sink"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

// Status is what is known of an informer at one moment: see package status.
type Status = status.Informer

type (
	// Quarantined is a Key whose latest version could not be stored: Err is the
	// *ItemError, which has the stage and the reason, and Since when that version
	// arrived. Stale is true if the store holds an earlier, good version.
	Quarantined = sink.Quarantined
	// ReadPath is how objects are read, why, and since when.
	ReadPath = source.ReadPath
)

// Status returns what is known of the informer. It costs about a microsecond
// (BenchmarkStatus) and waits for no request, write or handler.
func (i *Informer[T]) Status() Status {
	traits := i.traits()
	s := Status{
		Name:        i.opts.Name,
		Resource:    traits.Resource,
		Secrets:     traits.Secrets,
		Objects:     i.store.Len(),
		OwnWrites:   i.own.Status(),
		Consistency: i.checker.Status(),
		Mutations:   i.detector.Found(),
		Handlers:    i.hub.Statuses(),
	}
	if d := i.opts.demand; d != nil {
		s.Budget = d.ledger.status()
	}
	if i.sources.several.Load() { // see registration.DeliveredThrough
		for n := range s.Handlers {
			s.Handlers[n].DeliveredThrough = ""
		}
	}
	i.sources.addTo(&s)
	s.Synced, s.ResourceVersion = i.HasSynced(), i.version()
	if sharing := traits.Shared; sharing != nil {
		s.Sharing, s.SharingID = status.Sharing(sharing.Stats()), sharing.ID()
	}
	return s
}

// version returns the resource version that the store has reached; empty if several
// sources have one each.
func (i *Informer[T]) version() string {
	if all := i.sources.each(); len(all) == 1 {
		return i.own.Version(all[0].Scope.ID)
	}
	return ""
}
