package eventlog

import (
	"encoding/json"
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fielddiff"
	"github.com/kinglet-go/kinglet/store"
)

// document is what -o json writes. Fields are only ever added to it.
type document struct {
	Time              time.Time          `json:"time"`
	Type              string             `json:"type"`
	Resource          string             `json:"resource"`
	Key               string             `json:"key"`
	Namespace         string             `json:"namespace,omitempty"`
	Name              string             `json:"name"`
	ResourceVersion   string             `json:"resourceVersion"`
	Reason            string             `json:"reason"`
	FinalStateUnknown bool               `json:"finalStateUnknown,omitempty"`
	Changes           []fielddiff.Change `json:"changes,omitempty"`
	Object            map[string]any     `json:"object"`
}

// AppendJSON appends one document and a line break. The object is complete;
// changes lists the fields that differ from the version before.
func AppendJSON(buf []byte, e Event) ([]byte, error) {
	d := document{
		Time:              e.Time,
		Type:              e.Verb(),
		Resource:          e.Resource,
		Key:               e.Key.String(),
		Namespace:         e.Key.Namespace,
		Name:              e.Key.Name,
		ResourceVersion:   e.ResourceVersion,
		Reason:            e.Reason.String(),
		FinalStateUnknown: e.FinalStateUnknown,
		Object:            e.object(),
	}
	if e.Type == store.Updated {
		d.Changes = fielddiff.Compare(content(e.Old), content(e.New))
	}
	text, err := json.Marshal(d)
	if err != nil {
		return buf, err
	}
	return append(append(buf, text...), '\n'), nil
}
