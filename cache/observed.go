package cache

import (
	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// allRunning is process-wide, since informers of this package are made in many places of a
// program, few of which know each other.
var allRunning = kinglet.NewSet()

// Observed returns a set that shows the informers, controllers and reflectors of this
// package, all of the process: each from when its Run begins until it returns. So a
// program has their page, metrics and health without a change where they are made. They
// are named by the type of their objects, or as they were described. Those of New and
// NewReflector, whose stores are the program's, show no objects.
//
// The set is for looking at: do not run it. It holds nothing of an informer that has
// stopped.
func Observed() *kinglet.Set { return allRunning }

// Inspect implements Observable.
func (e *informerCore) Inspect() status.Details { return e.informer.Inspect() }

// Status implements kinglet.Observable.
func (e *engine) Status() kinglet.Status {
	return kinglet.Status{Name: e.config.description, Status: e.reflector.Status()}
}
