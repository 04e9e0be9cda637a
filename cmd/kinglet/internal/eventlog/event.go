package eventlog

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fielddiff"
	"github.com/kinglet-go/kinglet/store"
)

// Event is one change to one collection.
type Event struct {
	Time time.Time
	// Name is the resource's name for people; Resource identifies it.
	Name, Resource string
	// Secret hides values.
	Secret bool
	store.Change[*unstructured.Unstructured]
}

// Verb is the name of the change as on the wire, which is what kubectl shows.
func (e *Event) Verb() string {
	switch e.Type {
	case store.Added:
		return "ADDED"
	case store.Deleted:
		return "DELETED"
	}
	return "MODIFIED"
}

// object is the state after, or the last one before a delete; nil if there is
// none.
func (e *Event) object() map[string]any {
	obj := e.New
	if e.Type == store.Deleted {
		obj = e.Old
	}
	return content(obj)
}

func content(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

// summary says what changed in at most width characters; 0 is no bound.
func (e *Event) summary(width int, wide bool) string {
	limits := fielddiff.Limits{Width: width, Bookkeeping: wide}
	if wide {
		limits.Value = 120
	}
	if e.Secret {
		limits.Hide = fielddiff.HideSecrets
	}
	switch e.Type {
	case store.Updated:
		changes := fielddiff.Compare(content(e.Old), content(e.New))
		if len(changes) == 0 {
			return onlyNoise(e.Old, e.New)
		}
		return fielddiff.Summarize(changes, limits)
	case store.Deleted:
		if e.FinalStateUnknown {
			const missed = "(end not seen) "
			if limits.Width > 0 {
				limits.Width = max(1, limits.Width-len(missed))
			}
			return missed + fielddiff.Highlights(e.object(), limits)
		}
	}
	return fielddiff.Highlights(e.object(), limits)
}

// onlyNoise says what changed if Compare leaves all of it out.
func onlyNoise(before, after *unstructured.Unstructured) string {
	if before != nil && after != nil && !reflect.DeepEqual(before.GetManagedFields(), after.GetManagedFields()) {
		return "(managedFields only)"
	}
	return "(resourceVersion only)"
}
