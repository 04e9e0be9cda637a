package readthrough

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world has the sizes of the objects to read, and counts the reads.
type world struct {
	sizes map[store.Key]int
	reads int
}

func (w *world) cache(bytes int64) *Cache[*corev1.ConfigMap] {
	return New(Options[*corev1.ConfigMap]{
		Bytes: bytes,
		Read: func(_ context.Context, key store.Key, at State) (*corev1.ConfigMap, error) {
			w.reads++
			return &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: key.Name, UID: at.UID, ResourceVersion: at.Version},
				Data:       map[string]string{"data": strings.Repeat("x", w.sizes[key])},
			}, nil
		},
		Exists: func(store.Key, State) bool { return true },
		State:  func(c *corev1.ConfigMap) State { return State{UID: c.UID, Version: c.ResourceVersion} },
	})
}

// The twin is a list of what is kept, the next to go first, and of what was read again.
func TestWhatIsReadAgainIsSparedOnceAndTheBytesStayWithinTheBound(t *testing.T) {
	const bound = 20_000
	for seed := range uint64(testkit.Trials(40)) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := &world{sizes: map[store.Key]int{}}
		c := w.cache(bound)
		bytes := map[store.Key]int64{}
		for i := range 12 {
			key := store.Key{Name: fmt.Sprint("name", i)}
			w.sizes[key] = 1 + r.IntN(8_000)
			if i == 0 {
				w.sizes[key] = 2 * bound
			}
			alone := w.cache(4 * bound)
			if _, err := alone.Get(t.Context(), key, State{UID: "u", Version: "version1"}); err != nil {
				t.Fatal(err)
			}
			if bytes[key] = alone.Stats().Bytes; bytes[key] < int64(w.sizes[key]) {
				t.Fatalf("%d bytes for a text of %d", bytes[key], w.sizes[key])
			}
		}
		w.reads = 0
		var kept []store.Key
		versions, again := map[store.Key]string{}, map[store.Key]bool{}
		reads := 0
		for step := range 400 {
			key := store.Key{Name: fmt.Sprint("name", r.IntN(12))}
			at := State{UID: "u", Version: fmt.Sprint("version", 1+r.IntN(8)/7)}
			i := slices.Index(kept, key)
			if r.IntN(10) == 0 {
				if c.Forget(key, at); i >= 0 && versions[key] != at.Version {
					kept = slices.Delete(kept, i, i+1)
				}
			} else {
				obj, err := c.Get(t.Context(), key, at)
				if err != nil || obj.Name != key.Name || obj.ResourceVersion != at.Version {
					t.Fatalf("%v, %v", obj, err)
				}
				here := i >= 0 && versions[key] == at.Version
				if !here {
					reads++
				}
				switch {
				case here:
					again[key] = true
				case bytes[key] <= bound:
					if i >= 0 {
						kept = slices.Delete(kept, i, i+1)
					}
					for total(kept, bytes)+bytes[key] > bound {
						next := kept[0]
						if kept = kept[1:]; again[next] {
							kept, again[next] = append(kept, next), false
						}
					}
					kept, versions[key], again[key] = append(kept, key), at.Version, false
				}
			}
			if s := c.Stats(); w.reads != reads || s.Objects != len(kept) || s.Bytes != total(kept, bytes) || int(s.Misses) != reads {
				t.Fatalf("seed %d, step %d: %+v and %d reads; want %v of %d bytes and %d reads", seed, step, s, w.reads, kept, total(kept, bytes), reads)
			}
		}
	}
}

func total(keys []store.Key, bytes map[store.Key]int64) (n int64) {
	for _, key := range keys {
		n += bytes[key]
	}
	return n
}

func TestAnObjectWithoutAVersionIsNotKept(t *testing.T) {
	w := &world{}
	c := w.cache(1 << 20)
	for range 2 {
		if _, err := c.Get(t.Context(), store.Key{Name: "a"}, State{UID: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.reads != 2 {
		t.Errorf("read %d times", w.reads)
	}
}

func TestAReadThatPanicsOrEndsItsGoroutineIsAnError(t *testing.T) {
	for end, want := range map[string]struct {
		do   func()
		says string
	}{"panic": {func() { panic("a bug") }, "panic: a bug"}, "exit": {runtime.Goexit, errExit.Error()}} {
		bad := true
		c := New(Options[*corev1.ConfigMap]{
			Bytes: 1000,
			Read: func(context.Context, store.Key, State) (*corev1.ConfigMap, error) {
				if bad {
					want.do()
				}
				return &corev1.ConfigMap{}, nil
			},
			Exists: func(store.Key, State) bool { return true },
			State:  func(*corev1.ConfigMap) State { return State{} },
		})
		if _, err := c.Get(t.Context(), store.Key{Name: "a"}, State{}); err == nil || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v", end, err)
		}
		bad = false
		if _, err := c.Get(t.Context(), store.Key{Name: "a"}, State{}); err != nil {
			t.Errorf("after a %s: %v", end, err)
		}
	}
}

func TestAnObjectIsKeptInTheEpochInWhichItsReadBegan(t *testing.T) {
	epoch, reads := uint64(1), 0
	c := New(Options[*corev1.ConfigMap]{
		Bytes: 1 << 20,
		Read: func(context.Context, store.Key, State) (*corev1.ConfigMap, error) {
			if reads++; reads == 1 {
				epoch++ // meanwhile
			}
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"}}, nil
		},
		Exists: func(store.Key, State) bool { return true },
		State:  func(c *corev1.ConfigMap) State { return State{UID: c.UID, Version: c.ResourceVersion, Epoch: epoch} },
	})
	for _, want := range []int{1, 2, 2} {
		if _, err := c.Get(t.Context(), store.Key{Name: "a"}, State{UID: "u", Version: "1", Epoch: epoch}); err != nil || reads != want {
			t.Errorf("%d reads, want %d; %v", reads, want, err)
		}
	}
}

func TestGetOfAKeptObjectAllocatesNothing(t *testing.T) {
	c := (&world{}).cache(1 << 20)
	key, at := store.Key{Namespace: "ns", Name: "a"}, State{UID: "u", Version: "1"}
	get := func() {
		if _, err := c.Get(t.Context(), key, at); err != nil {
			t.Fatal(err)
		}
	}
	get()
	if n := testkit.Allocs(100, get); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
