package torture

import (
	"hash/fnv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// printOf returns a fingerprint of an object's whole content.
func printOf(o Object) uint64 {
	h := fnv.New64a()
	raw, err := o.Marshal()
	if err != nil {
		return 0
	}
	_, _ = h.Write(raw) // a hash does not fail
	return h.Sum64()
}

// prints has every object that a handler or a reader saw, and its content at that time.
type prints struct {
	mu  sync.Mutex
	was map[Object]print // guarded by mu
}

// print is the content of an object when it was first seen.
type print struct {
	of  version
	key types.NamespacedName
	sum uint64
}

// take records the content of an object.
func (p *prints) take(o Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.was[o]; !ok {
		p.was[o] = print{versionOf(o), types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, printOf(o)}
	}
}

// checkPrints checks that every object that was seen equals the server's, and has not
// changed since.
func (w *world) checkPrints(t *truth) {
	w.prints.mu.Lock()
	defer w.prints.mu.Unlock()
	for o, was := range w.prints.was {
		if printOf(o) != was.sum {
			w.violated("8, objects are read-only: %s, first seen as %s, has changed since", was.key.Name, was.of)
		}
		if s, real := t.states[was.key][was.of]; real && s.print != was.sum {
			w.violated("1, equality: %s at %s is not what the server had at that version", was.key.Name, was.of)
		}
	}
}
