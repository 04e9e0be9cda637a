// Package mutant breaks the engine on purpose, so that a checker can show that
// it notices (kinglettest/torture, `make mutants`).
//
// A place in the engine asks [On] whether one of the mutations is wanted there.
// Without the build tag mutants that is a constant: the function is inlined,
// the branch behind it is dead and is not compiled, and the package has no
// variable and no code of its own that a program would contain; nor are the
// functions in files named mutant.go linked. To see so:
//
//	go test -c -o torture.test ./kinglettest/torture
//	go tool nm torture.test | grep -E 'internal/mutant|sink.*mutate|deliverFirst|skipAhead|pretend|endEarly'
//
// prints nothing.
//
// It imports no other package of kinglet. Any package may call it except the
// reflector's machine, which imports nothing at all.
package mutant

// Mutation is one deliberate fault.
type Mutation int32

// The mutations, by the guarantee of package kinglet that they break first.
const (
	// None is the engine as it is.
	None Mutation = iota
	// SkipSweep leaves objects that a list does not contain in the store.
	SkipSweep
	// DropEvent loses every ninth change of a watch.
	DropEvent
	// ResumeTooNew resumes a watch from a version later than the store's.
	ResumeTooNew
	// TakeOlderList accepts the list of a server that is behind.
	TakeOlderList
	// ForgetIndexEntry leaves an object under its old index value, every ninth
	// time.
	ForgetIndexEntry
	// ReorderChanges tells handlers of two changes of one key in the wrong
	// order.
	ReorderChanges
	// UpdateInPlace tells of an object that took another's place as an update.
	UpdateInPlace
	// LoseDelete forgets a delete that folds into an update.
	LoseDelete
	// LastOld folds two updates into one whose old state no handler received.
	LastOld
	// EmptyReplay starts a handler without the present state.
	EmptyReplay
	// ForgetUnknown reports the last state seen as the final one.
	ForgetUnknown
	// NeverFold queues every change separately, without a bound.
	NeverFold
	// StallAll makes all handlers wait for the slowest.
	StallAll
	// SyncedEarly reports a handler as synced before it has returned.
	SyncedEarly
	// DropUndecodable drops objects that cannot be decoded, unreported.
	DropUndecodable
	// WriteHeld writes to an object that handlers and readers hold.
	WriteHeld
	// LeaveHandlers returns from Run while handlers are still being called.
	LeaveHandlers
	// DeliverFirst calls handlers before the store has the changes.
	DeliverFirst
	// PublishEarly publishes the version of a batch before the whole batch.
	PublishEarly
	// SweepOnForbidden treats a 403 as an empty list.
	SweepOnForbidden
	// TrustProbes treats the answer to every probe as that of a server which has
	// reached the store's version.
	TrustProbes
	// DeleteByStranger treats the delete of an object of another kind as that of the
	// object with its key.
	DeleteByStranger
	// LeaveGhost removes one of two initial events of a key.
	LeaveGhost
	// end is the number of mutations.
	end
)

// All are the mutations of the engine, without None; Wire and Source have the
// decoders', Queue the work queue's, Own those of reads that include own writes, Clone
// those of copies.
func All() []Mutation { return between(None+1, end) }

// between returns the mutations from first up to, but not including, end.
func between(first, end Mutation) []Mutation {
	all := make([]Mutation, 0, end-first)
	for m := first; m < end; m++ {
		all = append(all, m)
	}
	return all
}

// String is the mutation's name.
func (m Mutation) String() string {
	if m == VersionsDecide {
		return "versions decide"
	}
	if m >= firstClone {
		return m.cloneName()
	}
	if m >= firstOwn {
		return m.ownName()
	}
	if m >= firstQueue {
		return m.queueName()
	}
	if m >= firstSource {
		return m.sourceName()
	}
	if m >= firstWire {
		return m.wireName()
	}
	names := [end]string{
		"none", "skip sweep", "drop event", "resume too new", "take older list", "forget index entry",
		"reorder changes", "update in place", "lose delete", "last old", "empty replay", "forget unknown",
		"never fold", "stall all", "synced early", "drop undecodable", "write held", "leave handlers",
		"deliver first", "publish early", "sweep on forbidden", "trust probes", "delete by stranger", "leave ghost",
	}
	return names[m]
}
