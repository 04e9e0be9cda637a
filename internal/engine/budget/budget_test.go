package budget

import "testing"

type cache struct{ bytes int64 }

func (c *cache) Bytes() int64 { return c.bytes }

func (c *cache) Evict(n int64) int64 {
	n = min(n, c.bytes)
	c.bytes -= n
	return n
}

func TestWhatIsSpareGoesFirstAndOnlyAsMuchAsIsNeeded(t *testing.T) {
	b, c, rooms := New(100), &cache{}, 0
	b.Add(c)
	b.OnRoom(func() { rooms++ })
	take := func(n int64, must, want bool, used, spare int64) {
		t.Helper()
		if has := b.Has(n); has != want && !must {
			t.Errorf("Has(%d): %v", n, has)
		}
		if b.Take(n, must) != want {
			t.Errorf("Take(%d, %v): %v", n, must, !want)
		}
		if got, limit := b.Used(); got != used || limit != 100 || c.bytes != spare {
			t.Errorf("after Take(%d, %v): %d of %d are used, %d are spare; want %d and %d", n, must, got, limit, c.bytes, used, spare)
		}
	}
	take(50, false, true, 50, 0)
	c.bytes = 50 // as its owner takes them
	take(50, false, true, 100, 50)
	take(10, false, true, 100, 40)
	take(41, false, false, 60, 0)
	take(41, true, true, 101, 0)
	take(1, false, false, 101, 0)
	b.Give(2)
	take(1, false, true, 100, 0)
	if rooms != 1 {
		t.Errorf("room was told of %d times", rooms)
	}
}
