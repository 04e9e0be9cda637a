package lag

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// server is a collection whose changes and whose neighbours' are at known
// versions.
type server struct {
	mu      sync.Mutex // guards all of it
	version int
	changes []int // versions of the collection's own changes, rising
	down    bool
	nexts   int // how often it was asked for proof
}

var errDown = errors.New("down")

func (s *server) Version(context.Context) (string, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return "", -1, errDown
	}
	return strconv.Itoa(s.version), 7, nil
}

func (s *server) Next(ctx context.Context, from string) (Next, error) {
	start, err := strconv.Atoi(from)
	if err != nil {
		return Next{}, err
	}
	if next, known, err := s.first(start); known || err != nil {
		return next, err
	}
	select { // as long as until a bookmark
	case <-ctx.Done():
		return Next{}, ctx.Err()
	case <-time.After(time.Second):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Next{Version: strconv.Itoa(s.version)}, nil
}

func (s *server) first(after int) (next Next, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nexts++
	if s.down {
		return Next{}, false, errDown
	}
	for _, version := range s.changes {
		if version > after {
			return Next{Change: true, Version: strconv.Itoa(version)}, true, nil
		}
	}
	return Next{}, false, nil
}

// run calls step every 100 ms of fake time, with s locked, beside a running
// gauge.
func run(t *testing.T, s *server, g *Gauge, d time.Duration, step func(elapsed time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Run(ctx, s, 2*time.Second)
	}()
	for elapsed := time.Duration(0); elapsed < d; elapsed += 100 * time.Millisecond {
		synctest.Wait()
		s.mu.Lock()
		step(elapsed)
		s.mu.Unlock()
		<-time.After(100 * time.Millisecond) // fake time
	}
	cancel()
	<-done
}

func TestAGaugeOfAQuietCollectionInABusyClusterReadsZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &server{version: 100}, NewGauge()
		g.Stored("100")
		run(t, s, g, time.Minute, func(elapsed time.Duration) {
			s.version += 10
			if r := g.Read(); elapsed > 0 && (!r.Known || r.Lag != 0) {
				t.Fatalf("after %v: %+v", elapsed, r)
			}
		})
		if worst, ok := g.Worst(); !ok || worst != 0 {
			t.Errorf("worst is %v, %v", worst, ok)
		}
		if s.nexts == 0 {
			t.Error("zero without proof")
		}
		if g.Objects() != 7 {
			t.Errorf("objects: %d", g.Objects())
		}
	})
}

func TestAGaugeReadsHowLongAChangeHasBeenMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &server{version: 100}, NewGauge()
		g.Stored("100")
		var read time.Duration
		run(t, s, g, 20*time.Second, func(elapsed time.Duration) {
			switch elapsed {
			case 5 * time.Second:
				s.version, s.changes = 101, []int{101} // and the store does not get it
			case 15 * time.Second:
				read = g.Read().Lag
				g.Delivered("101")
				if r := g.Read(); r.Lag != 0 {
					t.Errorf("reads %v although the store is level", r.Lag)
				}
			}
		})
		// Asked every two seconds, it was known at 6 s that the version exists.
		if read < 8*time.Second || read > 10*time.Second {
			t.Errorf("read %v, the change was missing for 10 s", read)
		}
		if worst, _ := g.Worst(); worst != read {
			t.Errorf("worst is %v, read was %v", worst, read)
		}
	})
}

func TestAGaugeOfAServerThatIsDownSaysSoAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &server{version: 100}, NewGauge()
		g.Stored("100")
		run(t, s, g, 60*time.Second, func(elapsed time.Duration) {
			switch elapsed {
			case 5 * time.Second:
				s.down = true
			case 30 * time.Second:
				if r := g.Read(); r.Known {
					t.Errorf("reads %v while the server is down", r.Lag)
				}
				s.down = false
			case 35 * time.Second:
				if r := g.Read(); !r.Known || r.Lag != 0 {
					t.Errorf("reads %+v after the server came back", r)
				}
			}
		})
	})
}
