package cache

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/engine/mutation"
	"github.com/kinglet-go/kinglet/store"
)

// mutationDetectionWanted reports whether client-go's environment variable
// KUBE_CACHE_MUTATION_DETECTOR asks for detection.
func mutationDetectionWanted() bool {
	wanted, err := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))
	return err == nil && wanted
}

// NewCacheMutationDetector returns a detector of writes into the objects that
// it is given, if the environment variable KUBE_CACHE_MUTATION_DETECTOR is
// true, and otherwise one that does nothing. A write that it finds ends the
// process by a panic that names the object, the place in it, and what was
// written there, since detection is for tests.
//
// It keeps a deep copy of the latest version of each key, for two minutes
// after it was added. It compares the copies every second while Run runs, and
// once more when Run ends.
func NewCacheMutationDetector(name string) MutationDetector {
	if !mutationDetectionWanted() {
		return noMutationDetector{}
	}
	return newMutationDetector(name, func(msg string) { panic(msg) })
}

type noMutationDetector struct{}

func (noMutationDetector) AddObject(any)       {}
func (noMutationDetector) Run(<-chan struct{}) {}

const (
	mutationInterval = mutation.DefaultInterval
	// mutationWindow is how long an object is checked.
	mutationWindow = 2 * time.Minute
)

// mutationDetector runs a detector on a store of its own, in which each
// object stays for the window.
type mutationDetector struct {
	detector *mutation.Detector[any]
	objects  *store.Store[any]
	keys     keying

	mu    sync.Mutex
	added map[store.Key]time.Time // guarded by mu
}

func newMutationDetector(name string, fail func(msg string)) *mutationDetector {
	d := &mutationDetector{keys: keyingBy(MetaNamespaceKeyFunc), added: map[store.Key]time.Time{}}
	var err error
	d.objects, err = store.New(store.Options[any]{RememberKeys: true})
	if err == nil {
		d.detector, err = mutation.New(mutation.Options[any]{
			All:      true,
			Interval: mutationInterval,
			KeyFunc:  d.keys.read,
			Snapshot: func() store.Reader[any] { return d.objects.Snapshot() },
			Report:   func(err error) { fail(fmt.Sprintf("BUG: cache %s modified: %v", name, err)) },
		})
	}
	if err != nil {
		panic("BUG: cache: " + err.Error())
	}
	return d
}

// AddObject begins to check an object. What is not a runtime.Object, or has
// no key, is ignored.
func (d *mutationDetector) AddObject(obj any) {
	if _, ok := obj.(runtime.Object); !ok {
		return
	}
	key, err := d.keys.key(obj)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.detector.Entering(key, obj)
	_ = d.objects.Write(store.Op[any]{Key: key, Object: obj}) // refuses nothing
	d.added[key] = time.Now()
}

// Run compares every second until stopCh is closed, and then once more.
func (d *mutationDetector) Run(stopCh <-chan struct{}) {
	tick := time.NewTicker(mutationInterval)
	defer tick.Stop()
	for {
		d.check()
		select {
		case <-stopCh:
			d.check()
			return
		case <-tick.C:
		}
	}
}

func (d *mutationDetector) check() {
	d.mu.Lock()
	for key, added := range d.added {
		if time.Since(added) > mutationWindow {
			delete(d.added, key)
			d.objects.Delete(key)
		}
	}
	d.detector.Settled()
	d.mu.Unlock()
	d.detector.Check()
}
