package fifo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

// object is what the tests put into queues. Version 0 is no object.
type object struct {
	key     string
	version int
	// transformed counts how often transform has seen it.
	transformed int
}

var (
	errNoKey       = errors.New("object without key")
	errPoison      = errors.New("object that cannot be transformed")
	errBrokenKnown = errors.New("known objects out of order")
	errProcess     = errors.New("process function failed")
)

// keyOf fails for objects without key.
func keyOf(o object) (string, error) {
	if o.key == "" {
		return "", errNoKey
	}
	return o.key, nil
}

// transform fails for negative versions.
func transform(o object) (object, error) {
	if o.version < 0 {
		return object{}, errPoison
	}
	o.transformed++
	return o, nil
}

// known is a store for consumers, safe for concurrent use.
type known struct {
	mu      sync.Mutex
	objects map[string]object
	broken  map[string]bool
}

func newKnown() *known {
	return &known{objects: map[string]object{}, broken: map[string]bool{}}
}

func (k *known) ListKeys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.objects))
}

func (k *known) GetByKey(key string) (object, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken[key] {
		return object{}, false, errBrokenKnown
	}
	o, ok := k.objects[key]
	return o, ok, nil
}

func (k *known) set(o object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.objects[o.key] = o
}

func (k *known) remove(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.objects, key)
}

func (k *known) versions() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	versions := map[string]int{}
	for key, o := range k.objects {
		versions[key] = o.version
	}
	return versions
}

// chooser decides what a run of operations does: choose(n) is in [0, n).
type chooser func(n int) int

// seeded logs the seed that repeats the run.
func seeded(t testing.TB, run int) chooser {
	seed := testseed.Of(t) + uint64(run)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1)).IntN
}

// fromBytes lets a fuzzer choose. It reports with ok that bytes are left.
func fromBytes(data []byte) (choose chooser, ok func() bool) {
	choose = func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
	return choose, func() bool { return len(data) > 0 }
}

func keyName(i int) string { return fmt.Sprintf("k%d", i) }
