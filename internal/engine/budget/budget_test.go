package budget

import "testing"

func TestWhatIsSpareGoesFirstAndOnlyAsMuchAsIsNeeded(t *testing.T) {
	b, spare, changes := New(100), int64(0), 0
	m := &Member{
		Spare: func() int64 { return spare },
		Evict: func(n int64) int64 {
			n = min(n, spare)
			spare -= n
			return n
		},
		Changed: func() { changes++ },
	}
	b.Join(m)
	take := func(n int64, must, want bool, used, left int64) {
		t.Helper()
		if has := b.Has(n); has != want && !must {
			t.Errorf("Has(%d): %v", n, has)
		}
		if b.Take(n, must) != want {
			t.Errorf("Take(%d, %v): %v", n, must, !want)
		}
		if got, limit := b.Used(); got != used || limit != 100 || spare != left {
			t.Errorf("after Take(%d, %v): %d of %d are used, %d are spare; want %d and %d", n, must, got, limit, spare, used, left)
		}
	}
	take(50, false, true, 50, 0)
	spare = 50 // as its owner takes them
	take(50, false, true, 100, 50)
	take(10, false, true, 100, 40)
	take(41, false, false, 100, 40) // it would not be enough
	if changes != 0 {
		t.Errorf("%d changes were told of, and nothing was returned", changes)
	}
	take(41, true, true, 101, 0)
	if changes != 1 {
		t.Errorf("more than there is was taken: %d changes were told of", changes)
	}
	take(1, false, false, 101, 0)
	b.Give(2)
	take(1, false, true, 100, 0)
	if changes != 2 {
		t.Errorf("bytes were returned: %d changes were told of", changes)
	}
	b.Leave(m)
	b.Give(1)
	if changes != 2 {
		t.Error("somebody who has left was told of a change")
	}
}
