//go:build mutants

package mutant

import "sync/atomic"

// Enabled reports whether this build has mutations.
const Enabled = true

var (
	active atomic.Int32
	asked  atomic.Int64
)

// Set chooses the active mutation.
func Set(m Mutation) { active.Store(int32(m)) }

// On reports whether a mutation is wanted.
func On(m Mutation) bool { return Mutation(active.Load()) == m }

// Ninth reports whether a mutation is wanted, every ninth time that it is
// asked.
func Ninth(m Mutation) bool { return On(m) && asked.Add(1)%9 == 0 }
