package page

import (
	"time"

	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// Options configure a page.
type Options struct {
	// Informers and Controllers return the present informers and controllers, in the
	// order in which they were added. They are called from any goroutine.
	Informers   func() []Informer
	Controllers func() []Controller
}

// Informer is an informer on the page.
type Informer struct {
	Status func() status.Informer
	// Inspect returns the informer's details; nil if it has none.
	Inspect func() status.Details
	// Objects is nil if objects must not be shown.
	Objects Objects
}

// Controller is a controller on the page.
type Controller struct {
	Report  func() status.Controller
	Details func() status.ControllerDetails
}

// Objects are those of an informer.
type Objects interface {
	// KeysFrom returns at most limit keys, in order, from the first that is not
	// less than from.
	KeysFrom(from store.Key, limit int) []store.Key
	// Object returns the part of an object that may be shown: never the data of a
	// Secret.
	Object(key store.Key) (shown any, found bool)
}

const (
	// refreshEvery is how often the browser reloads the page.
	refreshEvery = 2 * time.Second
	// manyRows is how many informers are shown at once unless all are requested; the
	// worst are among them.
	manyRows = 250
	// maxGroups is how many problems are shown above the table.
	maxGroups = 8
)
