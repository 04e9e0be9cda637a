package encoding

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/store"
)

// Identity distinguishes an object from all others, as far as it is known.
type Identity struct {
	// Key is zero if there is no name.
	Key     store.Key
	UID     types.UID
	Version string
}

// named empties the key of an identity without a name.
func (id Identity) named() Identity {
	if id.Key.Name == "" {
		id.Key = store.Key{}
	}
	return id
}
