package fifo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// mirror consumes a DeltaFIFO into known with several goroutines until the
// queue is closed and drained. It fails the test if a key is in two hands, and
// is slow in the middle of its work, where the queue must not lose sight of a
// key. Now and then it fails first and asks for the item again.
func mirror(t *testing.T, f *fifo.DeltaFIFO[string, object], k *known, consumers int) *sync.WaitGroup {
	var wg sync.WaitGroup
	var hands sync.Map
	for c := range consumers {
		random := rand.New(rand.NewPCG(uint64(c), 7))
		process := func(item fifo.Item[string, object], _ bool) error {
			if _, there := hands.LoadOrStore(item.Key, c); there {
				t.Errorf("%s is in two hands", item.Key)
			}
			defer hands.Delete(item.Key)
			for range random.IntN(200) {
				_ = f.IsClosed()
			}
			if random.IntN(10) == 0 {
				return fifo.ErrRequeue{}
			}
			k.apply(item)
			return nil
		}
		wg.Go(func() {
			for {
				_, err := f.Pop(context.Background(), process)
				if errors.Is(err, fifo.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	return &wg
}

// One producer, so that the truth is known: whatever the consumers do at the
// same time, they end up with it. A deletion lost between queue and known
// objects would leave an object behind.
func TestConsumersEndUpWithWhatTheProducerSaid(t *testing.T) {
	for _, consumers := range []int{1, 4} {
		for run := range 8 {
			t.Run(fmt.Sprintf("%d consumers, run %d", consumers, run), func(t *testing.T) {
				choose := seeded(t, run)
				k := newKnown()
				f := fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{Known: k, Transform: transform})
				wg := mirror(t, f, k, consumers)
				truth := map[string]int{}
				for version := 1; version <= 3000; version++ {
					o := object{key: keyName(choose(20)), version: version}
					switch choose(12) {
					case 0:
						var list []object
						clear(truth)
						for range choose(10) {
							o := object{key: keyName(choose(20)), version: version}
							list = append(list, o)
							truth[o.key] = version
						}
						_ = f.Replace(list)
					case 1:
						f.Resync()
					case 2, 3, 4:
						_ = f.Delete(o)
						delete(truth, o.key)
					case 5:
						f.DeleteKey(o.key)
						delete(truth, o.key)
					default:
						_ = f.Update(o)
						truth[o.key] = version
					}
				}
				f.Close()
				wg.Wait()
				got := k.versions()
				for key, version := range truth {
					if got[key] != version {
						t.Errorf("%s: version %d, want %d", key, got[key], version)
					}
				}
				for key, version := range got {
					if truth[key] == 0 {
						t.Errorf("%s: version %d, though it was deleted", key, version)
					}
				}
				if !f.HasSynced() || f.DeltaCount() != 0 || f.Check() != nil {
					t.Errorf("synced %v, %d deltas left, %v", f.HasSynced(), f.DeltaCount(), f.Check())
				}
			})
		}
	}
}

func TestEveryKeyOfManyProducersArrivesInItsNewestVersion(t *testing.T) {
	f := fifo.NewFIFO(keyOf)
	var mu sync.Mutex
	newest := map[string]int{}
	var consumers, producers sync.WaitGroup
	for range 3 {
		consumers.Go(func() {
			for {
				_, err := f.Pop(context.Background(), func(o object, _ bool) error {
					mu.Lock()
					defer mu.Unlock()
					if newest[o.key] >= o.version {
						t.Errorf("%s: version %d after %d", o.key, o.version, newest[o.key])
					}
					newest[o.key] = o.version
					return nil
				})
				if err != nil {
					return
				}
			}
		})
	}
	for p := range 4 {
		producers.Go(func() {
			for version := 1; version <= 2000; version++ {
				_ = f.Add(object{key: fmt.Sprintf("%d/%s", p, keyName(version%10)), version: version})
				_, _ = f.GetByKey("0/k1")
				if version%100 == 0 {
					_ = f.List()
				}
			}
		})
	}
	producers.Wait()
	f.Close()
	consumers.Wait()
	if len(newest) != 40 {
		t.Errorf("%d keys arrived, want 40", len(newest))
	}
	for key, version := range newest {
		if version <= 1990 {
			t.Errorf("%s: last version %d", key, version)
		}
	}
}

func TestAllMethodsTogetherAreFreeOfRaces(t *testing.T) {
	k := newKnown()
	f := fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{Known: k, Transform: transform})
	consumers := mirror(t, f, k, 2)
	var writers sync.WaitGroup
	var version atomic.Int64
	for w := range 3 {
		choose := seeded(t, w)
		writers.Go(func() {
			for range 500 {
				o := object{key: keyName(choose(8)), version: int(version.Add(1))}
				switch choose(9) {
				case 0:
					_ = f.Add(o)
				case 1:
					_ = f.Delete(o)
				case 2:
					_ = f.Replace([]object{o})
				case 3:
					f.Resync()
				case 4:
					f.DeleteUnknown(o.key, o)
				case 5:
					_, _ = f.Items(), f.ListKeys()
				case 6:
					if deltas, ok := f.GetByKey(o.key); ok {
						deltas[0] = fifo.Delta[object]{} // a copy
						f.AddIfNotPresent(fifo.Item[string, object]{Key: o.key, Deltas: fifo.Deltas[object]{{Type: fifo.Added, Object: o}}})
					}
				case 7:
					_, _, _ = f.Len(), f.DeltaCount(), f.HasSynced()
				case 8:
					_ = f.Update(o)
				}
			}
		})
	}
	writers.Wait()
	f.Close()
	consumers.Wait()
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
}
