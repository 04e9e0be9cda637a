package reflector

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// thing is the object of these tests.
type thing struct {
	key     store.Key
	version string
	body    int
}

func (t *thing) GetResourceVersion() string { return t.version }

func key(name string) store.Key { return store.Key{Name: name} }

func item(name, version string) source.Item[*thing] {
	t := &thing{key: key(name), version: version}
	return source.Item[*thing]{Key: t.key, ResourceVersion: version, Object: t}
}

func event(t source.EventType, name, version string) source.Event[*thing] {
	return source.Event[*thing]{Type: t, Item: item(name, version)}
}

func bookmark(version string) source.Event[*thing] {
	return source.Event[*thing]{Type: source.Bookmark, Item: source.Item[*thing]{ResourceVersion: version}}
}

func initialEventsEnd(version string) source.Event[*thing] {
	e := bookmark(version)
	e.InitialEventsEnd = true
	return e
}

func errorEvent(err error) source.Event[*thing] {
	return source.Event[*thing]{Type: source.Error, Item: source.Item[*thing]{Err: err}}
}

// recorder is a sink that holds what it is told, and writes down the calls.
type recorder struct {
	mu    sync.Mutex
	held  map[store.Key]*thing // guarded by mu
	calls []string             // guarded by mu
	// during, if set, is called inside each call; guarded by mu.
	during func()
}

func newRecorder() *recorder { return &recorder{held: map[store.Key]*thing{}} }

func (r *recorder) note(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	if r.during != nil {
		r.during()
	}
}

func (r *recorder) Held(key store.Key) (*thing, store.Memo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.held[key]
	return t, nil, ok
}

// Len makes it a Sized.
func (r *recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held)
}

// Staging implements Sized: all is of one scope.
func (r *recorder) Staging(store.Scope, int) int { return 0 }

func describe(i *source.Item[*thing]) string {
	if i.Err != nil {
		return fmt.Sprintf("%s@%s!", i.Key, i.ResourceVersion)
	}
	return fmt.Sprintf("%s@%s", i.Key, i.ResourceVersion)
}

func (r *recorder) Apply(_ store.Scope, events []source.Event[*thing], version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for i := range events {
		e := &events[i]
		fmt.Fprintf(&b, " %s %s", e.Type, describe(&e.Item))
		switch {
		case e.Err != nil:
		case e.Type == source.Deleted:
			delete(r.held, e.Key)
		default:
			r.held[e.Key] = e.Object
		}
	}
	r.note("apply%s to be at %s", b.String(), version)
}

func (r *recorder) Replace(_ store.Scope, pages [][]source.Item[*thing], version string, epoch bool) {
	items := slices.Concat(pages...)
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.held)
	var b strings.Builder
	for i := range items {
		fmt.Fprintf(&b, " %s", describe(&items[i]))
		if items[i].Err == nil {
			r.held[items[i].Key] = items[i].Object
		}
	}
	word := ""
	if epoch {
		word = ", a new epoch"
	}
	r.note("replace by%s at %s%s", b.String(), version, word)
}

func (r *recorder) Bookmark(_ store.Scope, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("bookmark %s", version)
}

// said returns the calls since the last time it was asked.
func (r *recorder) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := strings.Join(r.calls, "\n")
	r.calls = nil
	return calls
}
