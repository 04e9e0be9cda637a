package structure

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

type (
	lock   struct{ mu sync.Mutex }
	state  struct{ n int }
	hidden struct {
		Lock    lock
		Once    sync.Once
		Count   atomic.Int64
		Label   string
		Strings []string
	}
	around struct {
		Name    string
		Pointer *hidden
		List    []hidden
		Map     map[string]hidden
		Arrays  *[2]state
		Labels  map[string]string
		Deep    *struct{ Inside []*struct{ State state } }
	}
	// within has state in its own memory.
	within struct {
		Mu     sync.Mutex
		Labels map[string]string
		Inside *around
	}
)

func newAround() *around {
	return &around{
		Name:    "a name",
		Pointer: &hidden{Label: "a label of some length, that is looked up", Strings: []string{"a text of some length, that is looked up"}},
		List:    []hidden{{Label: "a label of some length, that is looked up"}, {}},
		Map:     map[string]hidden{"a": {Label: "a label of some length, that is looked up"}},
		Arrays:  &[2]state{},
		Labels:  map[string]string{"app": "a label of some length, that is looked up"},
		Deep:    &struct{ Inside []*struct{ State state } }{[]*struct{ State state }{{}, {}}},
	}
}

// A mutex that is not locked, a counter that stands at nothing: zero, and not to
// be shared all the same.
func TestAStateIsNeitherSharedNorMovedEvenIfItIsZero(t *testing.T) {
	_, _ = (&lock{}).mu.TryLock(), state{}.n
	table := share.NewTable(0)
	s := newSharing[around](t, table)
	var last *around
	seen := map[any]bool{}
	for i := range 6 {
		obj := newAround()
		got := s.share(obj, last)
		for what, same := range map[string]bool{
			"a pointer": got.Pointer == obj.Pointer, "a list": &got.List[0] == &obj.List[0], "a map": reflect.ValueOf(got.Map).Pointer() == reflect.ValueOf(obj.Map).Pointer(),
			"an array": got.Arrays == obj.Arrays, "what is deep inside": got.Deep == obj.Deep && got.Deep.Inside[0] == obj.Deep.Inside[0],
		} {
			if !same {
				t.Errorf("object %d: %s with state is not the transform's", i, what)
			}
		}
		for _, p := range []any{got, got.Pointer, &got.List[0], got.Arrays, got.Deep.Inside[0]} {
			if seen[p] {
				t.Errorf("object %d: %T is another's", i, p)
			}
			seen[p] = true
		}
		if i > 2 && !sameMap(got.Labels, last.Labels) {
			t.Errorf("object %d: what stands beside is not shared", i)
		}
		if !got.Pointer.Lock.mu.TryLock() {
			t.Fatalf("object %d: its mutex is locked", i)
		}
		got.Pointer.Count.Add(1)
		last = got
	}
	w := newSharing[within](t, table)
	var before *within
	for i := range 6 {
		obj := &within{Labels: map[string]string{"app": "a label of some length, that is looked up"}, Inside: newAround()}
		obj.Mu.Lock()
		got := w.share(obj, before)
		if got != obj || got.Inside.Pointer == nil {
			t.Fatalf("object %d: it was copied, with its mutex", i)
		}
		got.Mu.Unlock()
		before = got
	}
}

// stage has the stages that it needs; several need the same.
type stage struct {
	Name  string
	Needs []*stage
	Any   map[string]any
}

func TestPartsThatAreReachedInManyWaysAreFollowedABoundedNumberOfTimes(t *testing.T) {
	made := func() *stage {
		loop := map[string]any{"name": "a text of some length"}
		loop["self"] = loop
		top := &stage{Name: "a stage of some length", Any: loop}
		for range 40 {
			top = &stage{Name: "a stage of some length", Needs: []*stage{top, top, top}}
		}
		return top
	}
	s := newSharing[stage](t, share.NewTable(0))
	var last *stage
	for i := range 3 {
		obj := made()
		got := s.share(obj, last)
		if got.Name != obj.Name || len(got.Needs) != 3 || got.Needs[0].Needs[2].Needs[1].Name != obj.Name {
			t.Fatalf("object %d: %+v", i, got)
		}
		last = got
	}
}

// The race detector sees if a state is compared or copied.
func TestReadersMayWriteToAStateWhileOtherObjectsAreShared(t *testing.T) {
	s := newSharing[around](t, share.NewTable(0))
	objects, done := make(chan *around, 100), make(chan struct{})
	go func() {
		defer close(done)
		for o := range objects {
			o.Pointer.Count.Add(1)
			o.Pointer.Lock.mu.TryLock()
			o.Arrays[0].n++
			o.Deep.Inside[0].State.n++
		}
	}()
	kept := newAround().Deep
	var last *around
	for range cap(objects) {
		obj := newAround()
		obj.Deep = kept
		last = s.share(obj, last)
		objects <- last
	}
	close(objects)
	<-done
}
