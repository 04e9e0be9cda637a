package cache

import (
	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// allRunning is process-wide, since informers of this package are made in many places of a
// program, few of which know each other.
var allRunning = kinglet.NewSet()

// Observed returns a set of all informers, controllers and reflectors of this package in
// the process, each from when its Run begins until it returns. With it a program has their
// page, metrics and health without a change where they are made. They are named by the
// type of their objects, or by their description. Those of New and NewReflector, whose
// stores are the program's, show no objects.
//
// Do not run the set; it is only for reading. It holds nothing of a stopped informer.
func Observed() *kinglet.Set { return allRunning }

// Inspect implements Observable.
func (e *informerCore) Inspect() status.Details { return e.informer.Inspect() }

// Status implements kinglet.Observable.
func (e *engine) Status() kinglet.Status {
	return kinglet.Status{Name: e.config.description, Status: e.reflector.Status()}
}
