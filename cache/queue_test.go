package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// naiveFIFO is what a FIFO has to be: client-go has none any more.
type naiveFIFO struct {
	items              []string // "key version", in order
	first              []string // of the first batch and not processed
	populated, settled bool
}

func (n *naiveFIFO) at(key string) int {
	return slices.IndexFunc(n.items, func(item string) bool { return item[:1] == key })
}

func (n *naiveFIFO) put(item string, replace bool) {
	n.populated = true
	if i := n.at(item[:1]); i < 0 {
		n.items = append(n.items, item)
	} else if replace {
		n.items[i] = item
	}
}

func (n *naiveFIFO) delete(key string) {
	n.populated = true
	if i := n.at(key); i >= 0 {
		n.items = slices.Delete(n.items, i, i+1)
	}
	n.processed(key)
}

func (n *naiveFIFO) processed(key string) {
	n.first = slices.DeleteFunc(n.first, func(k string) bool { return k == key })
}

func (n *naiveFIFO) replace(list []string) {
	var items []string
	for _, item := range list {
		if i := slices.IndexFunc(items, func(have string) bool { return have[:1] == item[:1] }); i >= 0 {
			items[i] = item
		} else {
			items = append(items, item)
		}
	}
	n.items = items
	n.first = slices.DeleteFunc(n.first, func(k string) bool { return n.at(k) < 0 })
	if !n.populated {
		for _, item := range items {
			n.first = append(n.first, item[:1])
		}
	}
	n.populated = true
}

func TestAFIFOIsItsNaiveTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		f, n := NewFIFO(func(obj any) (string, error) {
			if obj == "" {
				return "", errors.New("no key")
			}
			return obj.(string)[:1], nil
		}), &naiveFIFO{}
		item := func(step int) string { return fmt.Sprintf("%c%d", 'a'+r.IntN(5), step) }
		for step := range 60 {
			var err error
			switch one := item(step); r.IntN(8) {
			case 0, 1:
				n.put(one, true)
				err = f.Add(one)
			case 2:
				n.put(one, false)
				err = f.AddIfNotPresent(one)
			case 3:
				n.delete(one[:1])
				err = f.Delete(one)
			case 4:
				list := make([]string, r.IntN(6))
				objs := make([]any, len(list))
				for i := range list {
					list[i] = item(step)
					objs[i] = list[i]
				}
				n.replace(list)
				err = f.Replace(objs, "")
			case 5:
				if f.Add("") == nil || f.Replace([]any{one, ""}, "") == nil {
					t.Fatal("an object without a key was taken")
				}
			default:
				if len(n.items) == 0 {
					continue
				}
				want, again, initial := n.items[0], r.IntN(3) == 0, !n.settled
				var got any
				got, err = f.Pop(func(obj any, isInitial bool) error {
					if obj != want || isInitial != initial || f.HasSynced() != (n.settled || n.populated && len(n.first) == 0) {
						t.Fatalf("processes %v, initial %v, synced %v; want %s, %v", obj, isInitial, f.HasSynced(), want, initial)
					}
					if again {
						return fmt.Errorf("wrapped: %w", ErrRequeue{})
					}
					return nil
				})
				if got != want {
					t.Fatalf("popped %v, want %s", got, want)
				}
				n.items = n.items[1:]
				n.processed(want[:1])
				if again {
					n.items = append(n.items, want)
				}
			}
			n.settled = n.settled || n.populated && len(n.first) == 0
			if got := f.List(); err != nil || fmt.Sprint(got) != fmt.Sprint(n.items) || f.HasSynced() != n.settled {
				t.Fatalf("step %d: %v, %v, synced %v; want %v, %v", step, err, got, f.HasSynced(), n.items, n.settled)
			}
		}
	}
}

// TestQueuesLoseNothingBetweenManyWritersAndConsumers, call one process function at a
// time, and let every Pop return once they are closed and empty.
func TestQueuesLoseNothingBetweenManyWritersAndConsumers(t *testing.T) {
	key := func(obj any) (string, error) { return obj.(string), nil }
	for name, q := range map[string]interface {
		Queue
		Close()
	}{
		"FIFO":      NewFIFO(key),
		"DeltaFIFO": NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: key}),
		"RealFIFO":  NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: key, AtomicEvents: true}),
		"RealFIFO, writers let in": NewRealFIFOWithOptions(RealFIFOOptions{
			KeyFunction: key, AtomicEvents: true, UnlockWhileProcessing: true,
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var writers, consumers sync.WaitGroup
			var calls, popped, processing atomic.Int32
			for w := range 4 {
				writers.Go(func() {
					for i := range 250 {
						if err := q.Add(fmt.Sprint(w, " ", i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 4 {
				consumers.Go(func() {
					for {
						_, err := q.Pop(func(any, bool) error {
							if processing.Add(1) != 1 {
								t.Error("two process functions at once")
							}
							defer processing.Add(-1)
							if calls.Add(1)%7 == 0 {
								return ErrRequeue{}
							}
							popped.Add(1)
							return nil
						})
						if errors.Is(err, ErrFIFOClosed) {
							return
						}
					}
				})
			}
			writers.Wait()
			q.Close()
			consumers.Wait()
			if got := Pop(q); got != nil {
				t.Errorf("popped %v of a closed queue", got)
			}
			if n := popped.Load(); n != 1000 {
				t.Errorf("%d of 1000 were popped", n)
			}
		})
	}
}
