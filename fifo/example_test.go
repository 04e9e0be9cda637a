package fifo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"

	"github.com/kinglet-go/kinglet/fifo"
)

type pod struct{ Name, Phase string }

func podName(p pod) (string, error) {
	if p.Name == "" {
		return "", errors.New("pod without name")
	}
	return p.Name, nil
}

func ExampleFIFO() {
	queue := fifo.NewFIFO(podName)
	_ = queue.Add(pod{"web", "Pending"})
	_ = queue.Add(pod{"db", "Pending"})
	_ = queue.Update(pod{"web", "Running"})
	queue.Close() // nothing more to come; what waits is still popped

	for {
		_, err := queue.Pop(context.Background(), func(p pod, _ bool) error {
			fmt.Println(p.Name, p.Phase)
			return nil
		})
		if errors.Is(err, fifo.ErrClosed) {
			return
		}
	}
	// Output:
	// web Running
	// db Pending
}

// podStore is what the consumer knows.
type podStore struct {
	mu   sync.Mutex
	pods map[string]pod
}

func (s *podStore) Keys() iter.Seq[string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Keys(maps.Clone(s.pods))
}

func (s *podStore) Get(name string) (pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pods[name]
	return p, ok
}

func (s *podStore) apply(item fifo.Item[string, pod], _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range item.Deltas {
		fmt.Printf("%s %v %s, final state unknown: %v\n", item.Key, d.Type, d.Object.Phase, d.FinalStateUnknown())
		if d.Type == fifo.Deleted {
			delete(s.pods, item.Key)
		} else {
			s.pods[item.Key] = d.Object
		}
	}
	return nil
}

func ExampleDeltaFIFO() {
	pods := &podStore{pods: map[string]pod{}}
	queue := fifo.NewDeltaFIFO(podName, fifo.Options[string, pod]{Known: fifo.KnownIn(pods)})
	ctx := context.Background()

	_ = queue.Replace([]pod{{"db", "Running"}, {"web", "Pending"}})
	_ = queue.Update(pod{"web", "Running"})
	for queue.Len() > 0 {
		_, _ = queue.Pop(ctx, pods.apply)
	}
	fmt.Println("synced:", queue.HasSynced())

	// A second list does not have db: its deletion was missed.
	_ = queue.Replace([]pod{{"web", "Running"}})
	for queue.Len() > 0 {
		_, _ = queue.Pop(ctx, pods.apply)
	}
	// Output:
	// db Replaced Running, final state unknown: false
	// web Replaced Pending, final state unknown: false
	// web Updated Running, final state unknown: false
	// synced: true
	// web Replaced Running, final state unknown: false
	// db Deleted Running, final state unknown: true
}
