package eventlog

import (
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/store"
)

// Event is one change to one collection.
type Event struct {
	Time time.Time
	// Name is the resource's name for people; Resource identifies it.
	Name, Resource string
	// Secret hides values in lines for people.
	Secret bool
	store.Change[*unstructured.Unstructured]
}

// Object is the state after the change, or the last one before a delete; nil if there is
// none.
func (e *Event) Object() *unstructured.Unstructured {
	if e.Type == store.Deleted {
		return e.Old
	}
	return e.New
}

// verb is the name of the change as on the wire, which is what kubectl shows.
func (e *Event) verb() string {
	switch e.Type {
	case store.Added:
		return "ADDED"
	case store.Deleted:
		return "DELETED"
	}
	return "MODIFIED"
}

// version is that of the object; of one that is gone, that of the change. A list has one
// version for all of its changes.
func (e *Event) version() string {
	if obj := e.New; obj != nil && obj.GetResourceVersion() != "" {
		return obj.GetResourceVersion()
	}
	return e.ResourceVersion
}

// content is an object's fields, as far as people may see them.
func (e *Event) content(obj *unstructured.Unstructured) map[string]any {
	switch {
	case obj == nil:
		return nil
	case e.Secret:
		return withoutSecrets(obj.Object)
	}
	return obj.Object
}

// summary words what changed.
func (e *Event) summary(l limits) string {
	switch {
	case e.Type == store.Updated:
		changes := Compare(e.content(e.Old), e.content(e.New))
		if len(changes) == 0 {
			return "(bookkeeping only)"
		}
		return summarize(changes, l)
	case e.Type == store.Deleted && e.FinalStateUnknown:
		const missed = "(end not seen) "
		if l.width > 0 {
			l.width = max(1, l.width-len(missed))
		}
		return missed + highlights(e.content(e.Old), l)
	}
	return highlights(e.content(e.Object()), l)
}

// document is what -o json writes. Fields are only ever added to it.
type document struct {
	Time              time.Time                  `json:"time"`
	Type              string                     `json:"type"`
	Resource          string                     `json:"resource"`
	Key               string                     `json:"key"`
	Namespace         string                     `json:"namespace,omitempty"`
	Name              string                     `json:"name"`
	ResourceVersion   string                     `json:"resourceVersion"`
	Reason            string                     `json:"reason"`
	FinalStateUnknown bool                       `json:"finalStateUnknown,omitempty"`
	Changes           []Change                   `json:"changes,omitempty"`
	Object            *unstructured.Unstructured `json:"object"`
}

// AppendJSON appends one document and a line break. The object is complete, a Secret's
// data included, and with managed fields if they are asked for; changes lists the fields that
// differ from the version before.
func AppendJSON(buf []byte, e Event, managedFields bool) ([]byte, error) {
	d := document{
		Time: e.Time, Type: e.verb(), Resource: e.Resource, Key: e.Key.String(), Namespace: e.Key.Namespace, Name: e.Key.Name,
		ResourceVersion: e.version(), Reason: e.Reason.String(), FinalStateUnknown: e.FinalStateUnknown, Object: e.Object(),
	}
	if e.Type == store.Updated && e.Old != nil && e.New != nil {
		d.Changes = Compare(e.Old.Object, e.New.Object)
	}
	if !managedFields && d.Object != nil {
		content := maps.Clone(d.Object.Object) // the object is the store's
		if metadata, ok := content["metadata"].(map[string]any); ok {
			metadata = maps.Clone(metadata)
			delete(metadata, "managedFields")
			content["metadata"] = metadata
		}
		d.Object = &unstructured.Unstructured{Object: content}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return buf, err
	}
	return append(append(buf, text...), '\n'), nil
}
