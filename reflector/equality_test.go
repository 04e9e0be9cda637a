package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// mirror is a sink that checks with every call that it holds exactly the
// model's state at the version that it is told.
type mirror struct {
	model *model

	mu       sync.Mutex
	held     map[store.Key]*thing // guarded by mu
	version  int                  // guarded by mu
	epochs   int                  // guarded by mu
	truth    *truth               // guarded by mu; the model's state at version
	problems []string             // guarded by mu
	replaced int                  // guarded by mu
}

func newMirror(m *model) *mirror {
	return &mirror{model: m, held: map[store.Key]*thing{}, truth: newTruth()}
}

func (s *mirror) Held(key store.Key) (*thing, store.Memo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.held[key]
	return t, nil, ok
}

// spoiled stands for what could not be decoded; only its version is known.
const spoiled = -1

func (s *mirror) put(i *source.Item[*thing]) {
	if otherKind(i) {
		return
	}
	if i.Err == nil {
		s.held[i.Key] = i.Object
	} else if i.Key != (store.Key{}) {
		s.held[i.Key] = &thing{key: i.Key, version: i.ResourceVersion, body: spoiled}
	}
}

func (s *mirror) Apply(_ store.Scope, events []source.Event[*thing], version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range events {
		e := &events[i]
		if otherKind(&e.Item) {
			continue
		}
		if e.Type == source.Deleted && e.Key != (store.Key{}) {
			delete(s.held, e.Key)
			continue
		}
		if before, ok := s.held[e.Key]; ok && e.Err == nil {
			if was, is := atoi(before.version), atoi(e.ResourceVersion); is < was {
				s.problem("%s went back from %d to %d", e.Key, was, is)
			}
		}
		s.put(&e.Item)
	}
	s.moved(version, "apply")
}

func (s *mirror) Replace(_ store.Scope, pages [][]source.Item[*thing], version string, epoch bool) {
	items := slices.Concat(pages...)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held)
	for i := range items {
		s.put(&items[i])
	}
	s.replaced++
	if epoch {
		s.epochs++
		s.version, s.truth = 0, newTruth()
	}
	s.model.mu.Lock()
	s.model.lost = s.model.lostHere
	s.model.mu.Unlock()
	s.moved(version, "replace")
}

func (s *mirror) Bookmark(_ store.Scope, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved(version, "bookmark")
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (s *mirror) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// moved checks the state against the truth of its version.
func (s *mirror) moved(version, call string) {
	v := atoi(version)
	if v < s.version {
		s.problem("%s took the version from %d to %d", call, s.version, v)
	}
	s.version = v
	s.model.mu.Lock()
	lost := s.model.lost
	s.truth.forward(s.model.history, v)
	s.model.mu.Unlock()
	if !lost {
		s.compare(call)
	}
}

func (s *mirror) compare(call string) {
	for k, t := range s.held {
		c, ok := s.truth.state[k.Name]
		if !ok || c.version != atoi(t.version) || t.body != spoiled && c.body != t.body {
			s.problem("after %s at %d, %s is at %s, truly at %d (exists: %v)", call, s.version, k, t.version, c.version, ok)
		}
	}
	for name := range s.truth.state {
		if _, ok := s.held[key(name)]; !ok {
			s.problem("after %s at %d, %s is missing", call, s.version, name)
		}
	}
}

// mirrored runs a reflector between a model and a mirror, lets during change
// the model, ends the faults, and checks that they become equal.
func mirrored(t *testing.T, m *model, during func()) *Reflector[*thing] {
	s := newMirror(m)
	told := 0
	r, err := New[*thing](m, s, Options{OnError: func(error) { told++ }, PageSize: int64(m.dice.IntN(2) * 4), Rand: rand.New(rand.NewPCG(m.dice.Uint64(), 3)).Float64})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	during()
	m.calm()
	// Relists for what stayed unreadable are up to 20 minutes apart, and dead
	// watches are found after at most ten and a half.
	<-time.After(time.Hour)
	synctest.Wait()
	status := r.Status()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truth = m.at(m.version)
	if s.version != m.version {
		s.problem("at the end the version is %d, truly %d", s.version, m.version)
	}
	s.compare("the end")
	if len(s.problems) > 0 {
		t.Errorf("%d problems, the first: %s", len(s.problems), s.problems[0])
	}
	if status.Phase != Watching || status.Degraded || status.LastError != nil || r.state.Unordered {
		t.Errorf("at the end: %+v", status)
	}
	checkCounts(t, r.Status(), told)
	if int(status.Epoch) != s.epochs {
		t.Errorf("the status has epoch %d, the sink %d", status.Epoch, s.epochs)
	}
	return r
}

func TestTheSinkIsEqualWhateverFailedInBetween(t *testing.T) {
	seed := testkit.Seed(t)
	var total Status
	for i := range uint64(60) {
		t.Run(strconv.FormatUint(seed+i, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(seed + i)
				r := mirrored(t, m, func() {
					for range 300 {
						m.mutate()
					}
				})
				s := r.Status()
				if s.Epoch != 0 {
					t.Errorf("a new epoch, although the server never went back")
				}
				total.Published += s.Published
				total.Events += s.Events
				total.Unreadable += s.Unreadable
				total.Errors += s.Errors
			})
		})
	}
	t.Logf("%d lists, %d events, %d unreadable, %d errors",
		total.Published, total.Events, total.Unreadable, total.Errors)
}

func TestTheSinkFollowsARestoredServer(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(20) {
		t.Run(strconv.FormatUint(seed+i, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(seed + i)
				r := mirrored(t, m, func() {
					for range 200 {
						m.mutate()
					}
					// Long enough for the sink to have seen what will be undone.
					m.calm()
					<-time.After(time.Hour)
					m.restore(m.version - 250)
					for range 10 {
						m.mutate()
					}
				})
				if e := r.Status().Epoch; e != 1 {
					t.Errorf("epoch %d, want 1", e)
				}
			})
		})
	}
}
