package page

import (
	"time"

	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// Options say what a page shows.
type Options struct {
	// Informers and Controllers return what there is to show now, in the order
	// they were added. They are called from any goroutine.
	Informers   func() []Informer
	Controllers func() []Controller
}

// Informer is one that can be looked into.
type Informer struct {
	Status func() status.Informer
	// Inspect is nil where it cannot be looked into.
	Inspect func() status.Details
	// Objects is nil where objects are not to be shown.
	Objects Objects
}

// Controller is one that can be looked into.
type Controller struct {
	Report  func() status.Controller
	Details func() status.ControllerDetails
}

// Objects are those of an informer.
type Objects interface {
	// KeysFrom returns at most limit keys, in order, from the first that is not
	// less than from.
	KeysFrom(from store.Key, limit int) []store.Key
	// Object returns what may be shown of an object: never the data of a Secret.
	Object(key store.Key) (shown any, found bool)
}

const (
	// refreshEvery is how often the browser asks again.
	refreshEvery = 2 * time.Second
	// manyRows is how many informers are shown at once, unless all are asked for:
	// the worst are among them.
	manyRows = 250
	// maxGroups is how many problems stand above the table.
	maxGroups = 8
)
