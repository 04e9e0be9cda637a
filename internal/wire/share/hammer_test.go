package share

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestReadersNeverGetAnotherValueWhileEntriesMoveAndGo has readers probe
// without a lock while entries are evicted, moved up behind those that went,
// and moved to larger slots.
func TestReadersNeverGetAnotherValueWhileEntriesMoveAndGo(t *testing.T) {
	r := seeded(t)
	const readers, writers = 3, 2
	for _, size := range []int{3_000, 30_000, 0} {
		table := NewTable(size)
		write := func(r *rand.Rand) {
			v := told{Unit(r.Uint64N(2)), Hash{r.Uint64N(2_000) * 0x9e3779b97f4a7c15, r.Uint32N(2)}}
			v.sight(table, r.IntN(200))
		}
		for range 1_000 {
			write(r)
		}
		var writing, reading sync.WaitGroup
		done := make(chan struct{})
		for range writers {
			r := rand.New(rand.NewPCG(r.Uint64(), 0))
			writing.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						write(r)
					}
				}
			})
		}
		found := make([]int, readers)
		for i := range readers {
			r := rand.New(rand.NewPCG(r.Uint64(), 1))
			reading.Go(func() {
				for probe := range 30_000 {
					h := Hash{r.Uint64N(2_000) * 0x9e3779b97f4a7c15, r.Uint32N(2)}
					if _, ok := get(t, table, Unit(r.Uint64N(2)), h); ok {
						found[i]++
					}
					if probe%100 != 0 {
						continue
					}
					if st := table.Stats(); st.Bytes > st.MaxBytes {
						t.Errorf("%+v", st)
					}
				}
			})
		}
		reading.Wait()
		close(done)
		writing.Wait()
		check(t, table)
		if found[0] == 0 || found[1] == 0 || found[2] == 0 {
			t.Errorf("a reader found nothing in a table of %d bytes, so nothing was tested", size)
		}
	}
}

func TestAHandThatReadersOutrunStillEvicts(t *testing.T) {
	// Eight entries that are marked again as soon as the marks are taken back.
	table := NewTable(8 * (entryBytes + 200))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for i := uint64(0); ; i++ {
				select {
				case <-done:
					return
				default:
					get(t, table, 1, Hash{i % 8, 0})
				}
			}
		})
	}
	for i := range uint64(20_000) {
		v := told{1, Hash{i % 16, 0}}
		v.sight(table, 150)
	}
	close(done)
	wg.Wait()
	check(t, table)
}

func TestGoroutinesThatShareStringsGetTheirOwnText(t *testing.T) {
	r := seeded(t)
	for _, size := range []int{8_000, 100_000, 0} {
		table := NewTable(size)
		var wg sync.WaitGroup
		for range 4 {
			r := rand.New(rand.NewPCG(r.Uint64(), 0))
			wg.Go(func() {
				b := make([]byte, 0, 64)
				for range 10_000 {
					b = fmt.Appendf(b[:0], "%d/%0*d", r.IntN(3), r.IntN(30), r.IntN(500))
					want := string(b)
					s, boxed, known := table.String(b), table.Boxed(b), table.Known(want)
					for i := range b {
						b[i] = '#'
					}
					if s != want || *boxed != want || known != nil && *known != want {
						t.Errorf("%q became %q and %q", want, s, *boxed)
						return
					}
				}
			})
		}
		wg.Wait()
		check(t, table)
		if table.Stats().Strings == 0 {
			t.Errorf("no string was kept in a table of %d bytes", size)
		}
	}
}

func TestWhatIsFoundWhileTheStringsGrowIsWhatWasThere(t *testing.T) {
	table := NewTable(0)
	wanted := []byte("a string that is known from the beginning")
	table.String(wanted)
	table.String(wanted)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 20_000 {
			b := fmt.Appendf(nil, "string %d", i)
			table.String(b)
			table.String(b)
		}
	})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s := table.String(wanted); s != string(wanted) {
					t.Errorf("%q", s)
					return
				}
			}
		})
	}
	wg.Wait()
	check(t, table)
	if st := table.Stats(); st.Strings < 15_000 {
		t.Errorf("%d of 20,001 strings are known", st.Strings)
	}
}
