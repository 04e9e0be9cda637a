package replay

import (
	"runtime"
	"sync"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// shelf keeps encoded pods.
type shelf struct {
	pods     *testpods.Collection
	encoding Encoding

	mu sync.RWMutex
	// rounds holds the objects of each round, by pod; nil where nobody has
	// asked yet. Guarded by mu.
	rounds map[int][][]byte
}

func newShelf(c *testpods.Collection, e Encoding) *shelf {
	return &shelf{pods: c, encoding: e, rounds: map[int][][]byte{}}
}

// object returns pod i as it is in a round, encoded.
func (s *shelf) object(i, round int) ([]byte, error) {
	s.mu.RLock()
	var b []byte
	if all := s.rounds[round]; all != nil {
		b = all[i]
	}
	s.mu.RUnlock()
	if b != nil {
		return b, nil
	}
	b, err := s.encoding.pod(s.pods.Pod(i, round))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounds[round] == nil {
		s.rounds[round] = make([][]byte, s.pods.Len())
	}
	s.rounds[round][i] = b
	return b, nil
}

// fill encodes whole rounds, those from 0 to last, on all processors.
func (s *shelf) fill(last int) error {
	for round := range last + 1 {
		if err := s.fillRound(round); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) fillRound(round int) error {
	s.mu.RLock()
	old := s.rounds[round]
	s.mu.RUnlock()
	all := make([][]byte, s.pods.Len())
	copy(all, old)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * len(all) / workers; i < (w+1)*len(all)/workers; i++ {
				if all[i] != nil {
					continue
				}
				if all[i], errs[w] = s.encoding.pod(s.pods.Pod(i, round)); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.rounds[round] = all
	s.mu.Unlock()
	return nil
}
