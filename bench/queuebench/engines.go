package main

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	kw "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/workqueue"
)

type key = types.NamespacedName

// queue is what every engine does.
type queue interface {
	Add(key)
	AddAfter(key, time.Duration)
	Get() (key, bool)
	Done(key)
	Len() int
	ShutDown()
}

// The order is that of the columns.
var engines = []struct {
	name string
	make func() queue
}{
	{"client-go", func() queue { return kw.NewTypedDelayingQueue[key]() }},
	{"controller-runtime", func() queue { return ctrl{priorityqueue.New[key]("")} }},
	{"workqueue", func() queue { return workqueue.NewTypedDelayingQueue[key]() }},
	{"engine", func() queue { return engine{keyqueue.New(keyqueue.Options[key]{})} }},
}

// initialAdder is a queue that lets keys of an initial list yield to others.
type initialAdder interface{ AddInitial(key) }

// ctrl adds such keys as controller-runtime's handlers do.
type ctrl struct {
	priorityqueue.PriorityQueue[key]
}

func (c ctrl) AddInitial(k key) {
	low := -100
	c.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, k)
}

// engine is kinglet's queue without the drop-in.
type engine struct{ q *keyqueue.Queue[key] }

func (e engine) Add(k key)                       { e.q.Add(k, keyqueue.AddOptions{}) }
func (e engine) AddInitial(k key)                { e.q.Add(k, keyqueue.AddOptions{Head: -30 * time.Second}) }
func (e engine) AddAfter(k key, d time.Duration) { e.q.Add(k, keyqueue.AddOptions{After: d}) }
func (e engine) Done(k key)                      { e.q.Done(k) }
func (e engine) Len() int                        { return e.q.Counts().Queued }
func (e engine) ShutDown()                       { e.q.Close() }

func (e engine) Get() (key, bool) {
	run, ok := e.q.Take()
	return run.Key, !ok
}
