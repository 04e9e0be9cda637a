//go:build !mutants

package mutant

// Enabled reports whether this build has mutations.
const Enabled = false

// On reports whether a mutation is wanted.
func On(Mutation) bool { return false }

// Ninth reports whether a mutation is wanted, every ninth time that it is
// asked.
func Ninth(Mutation) bool { return false }
