package filler

import "math/rand/v2"

// Script makes a Filler's decisions: from its bytes first, which a fuzzer changes, and
// then from a generator that is seeded with them. It belongs to one goroutine.
type Script struct {
	bytes []byte
	rnd   *rand.Rand
}

// NewScript returns the Script of b.
func NewScript(b []byte) *Script {
	var seed [32]byte
	for i, c := range b {
		seed[i%32] = seed[i%32]*31 + c
	}
	return &Script{b, rand.New(rand.NewChaCha8(seed))}
}

// Random returns a Script whose decisions come from rnd.
func Random(rnd *rand.Rand) *Script { return &Script{rnd: rnd} }

// Intn returns a number from 0 up to n-1.
func (s *Script) Intn(n int) int {
	if len(s.bytes) > 0 {
		c := s.bytes[0]
		s.bytes = s.bytes[1:]
		return int(c) % n
	}
	return s.rnd.IntN(n)
}

// OneIn returns true once in n calls, on average.
func (s *Script) OneIn(n int) bool { return s.Intn(n) == 0 }

// Pick returns one of from.
func Pick[T any](s *Script, from []T) T { return from[s.Intn(len(from))] }
