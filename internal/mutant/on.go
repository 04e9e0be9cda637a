//go:build mutants

package mutant

import "sync/atomic"

// Enabled says that there are mutations in this build.
const Enabled = true

var (
	active atomic.Int32
	asked  atomic.Int64
)

// Set chooses the mutation that is wanted from now on.
func Set(m Mutation) { active.Store(int32(m)) }

// On reports whether a mutation is wanted.
func On(m Mutation) bool { return Mutation(active.Load()) == m }

// Ninth reports whether a mutation is wanted, every ninth time that it is
// asked.
func Ninth(m Mutation) bool { return On(m) && asked.Add(1)%9 == 0 }
