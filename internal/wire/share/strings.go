package share

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"
)

// strings makes one string of equal ones. It is a cache: each string has two
// places, and comparing bytes decides, so a hash of 64 bits is plenty.
type strings struct {
	cache atomic.Pointer[stringCache]
	door  doorkeeper
	mu    sync.Mutex // taken by who grows the cache
}

type stringCache struct {
	n      atomic.Int32
	places []atomic.Pointer[string]
}

const (
	// maxInterned is the longest string that is looked for: images and label
	// values are shorter, messages and unique identifiers may be longer.
	maxInterned = 256
	minPlaces   = 1 << 6
	maxPlaces   = 1 << 16
)

// get returns b as a string, and where the cache has it, nil if it has not.
func (s *strings) get(h *hasher, b []byte) (string, *string) {
	if len(b) == 0 {
		return "", nil
	}
	if len(b) > maxInterned {
		return string(b), nil
	}
	x := maphash.Bytes(h.a, b)
	if p := s.find(x, unsafe.String(unsafe.SliceData(b), len(b))); p != nil {
		return *p, p
	}
	v := string(b)
	if !s.door.seen(x) {
		return v, nil
	}
	return v, s.keep(h, x, v)
}

// known returns where the cache has a string that equals v, nil if it has
// none: v is long, or this is its first sighting.
func (s *strings) known(h *hasher, v string) *string {
	if v == "" || len(v) > maxInterned {
		return nil
	}
	x := maphash.String(h.a, v)
	if p := s.find(x, v); p != nil {
		return p
	}
	if !s.door.seen(x) {
		return nil
	}
	// v may be a part of something larger, which must not stay for its sake.
	return s.keep(h, x, string([]byte(v)))
}

// find returns where the cache has v.
func (s *strings) find(x uint64, v string) *string {
	c := s.cache.Load()
	if c == nil {
		return nil
	}
	if p := c.place(x).Load(); p != nil && *p == v {
		return p
	}
	if p := c.other(x).Load(); p != nil && *p == v {
		return p
	}
	return nil
}

// keep puts v into the cache and returns where it is.
func (s *strings) keep(h *hasher, x uint64, v string) *string {
	c := s.cache.Load()
	if c == nil || int(c.n.Add(1)) > len(c.places)/2 && len(c.places) < maxPlaces {
		c = s.grow(h, c)
	}
	place := c.place(x)
	if place.Load() != nil {
		if other := c.other(x); other.Load() == nil || x>>63 != 0 {
			place = other
		}
	}
	cached := new(string)
	*cached = v
	place.Store(cached)
	return cached
}

func (c *stringCache) place(x uint64) *atomic.Pointer[string] {
	return &c.places[x&uint64(len(c.places)-1)]
}

func (c *stringCache) other(x uint64) *atomic.Pointer[string] {
	return &c.places[x>>32&uint64(len(c.places)-1)]
}

func (s *strings) grow(h *hasher, old *stringCache) *stringCache {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cache.Load(); c != old {
		return c
	}
	size := minPlaces
	if old != nil {
		size = 2 * len(old.places)
	}
	c := &stringCache{places: make([]atomic.Pointer[string], size)}
	if old != nil {
		for i := range old.places {
			p := old.places[i].Load()
			if p == nil {
				continue
			}
			x := maphash.String(h.a, *p)
			if place := c.place(x); place.Load() == nil {
				place.Store(p)
			} else {
				c.other(x).Store(p)
			}
		}
	}
	s.cache.Store(c)
	return c
}
