package footprint

import (
	"runtime"
	"testing"
)

// MapBytes is about what the allocator charges, within a quarter.
func TestMapBytesIsWhatAMapTakes(t *testing.T) {
	for _, n := range []int{1, 5, 8, 9, 14, 15, 40, 100, 700} {
		// The runtime charges what it allocates itself as well, which only adds.
		want := charged(n)
		for range 9 {
			want = min(want, charged(n))
		}
		if got := MapBytes(n, 2*16); got < want*3/4 || got > want*5/4 {
			t.Errorf("%d entries: %d bytes, and the allocator says %d", n, got, want)
		}
	}
}

// charged is what the allocator charges for a map of n strings to strings.
func charged(n int) int {
	const maps = 50
	var before, after runtime.MemStats
	all := make([]map[string]string, maps)
	runtime.ReadMemStats(&before)
	for i := range all {
		m := make(map[string]string, n)
		for j := range n {
			m[names[j]] = ""
		}
		all[i] = m
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(all)
	return int(after.TotalAlloc-before.TotalAlloc) / maps
}

var names = func() (all [700]string) {
	for i := range all {
		all[i] = string(rune(0x4e00 + i))
	}
	return all
}()
