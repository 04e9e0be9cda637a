// Package share is the engine of the decoders: bytes that were seen before become
// the value that they became then. A decoder is a reader, which cuts units out of
// bytes and builds their values. Where a value comes from, whether it is offered
// to others, and what is remembered of it, is decided here, for all readers by the
// same steps: Decision lists them.
//
// # Two ways to know a value
//
// A decoder that meets a run of bytes, a unit, asks twice:
//
//   - Is it what the last version of this very object had there? A Memo stands
//     beside each stored object: one Record for each unit of it, with a hash of
//     the unit's bytes. Equal hash, same value: it is copied from the last
//     version, which is in reach, and nothing is decoded or allocated. A last
//     version counts only with a memo of the same plan for that very object;
//     Version states the rule, and is the only way to the object.
//   - Has some other object had it? Table maps the hash of a unit to its value.
//     A value enters at its second sighting, so that what is unique costs no
//     entry, and the table is bounded in bytes. An entry that is evicted
//     affects no object. Those who decode a busy stream have a Recent beside
//     it, so that the first sighting's value is the one that enters, if the
//     second follows soon.
//
// Strings outside of shared values, names for example, are made one by their
// bytes: Session.String. They count in the same bound.
//
// # Whose a value is
//
// Some values have state in them that a program may write, a Quantity's text for
// example. A reader counts them in Session.Private. What has one in it is offered
// to nobody and has no closed record, so each object gets one of its own.
//
// # What it takes
//
// Values, strings, and what finds them stay within the table's bytes, exactly;
// strings have a quarter at most, so 16 MiB of a table of the default size, a
// single value an eighth. A value that nobody has asked for between two passes, a
// minute or more apart, is known weakly from then on: the table keeps it alive no
// longer, and finds it as long as an object has it. Strings are forgotten once an
// hour. Both follow the garbage collector's cycles (fade.go). The two doorkeepers,
// which know what was sighted once, grow to 1 MiB each beside it. A table that nobody has used takes less
// than 200 bytes, one with a hundred small objects less than 16 KiB.
//
// # Why a hash is enough
//
// Nothing is compared but hashes, since the bytes are gone. A Hash is 96 bits
// of two keyed hashes with random seeds of the Table's own. For two units that
// are compared, the odds of taking one for the other are 1 in 2^96; a decoder
// that makes a million comparisons a second is wrong once in 2.5·10^15 years.
// The seeds are secret and of this process, so nobody can search for objects
// that collide. The assumption is that two maphash seeds act as independent,
// as it is in the store's hints.
//
// # Who may call what
//
// Table is safe for concurrent use and takes no lock to read. Two kinds of
// mutexes, never held together, order what changes it: the table's, which who
// adds a value or a string takes, and a doorkeeper's, for a new generation. A
// Recent has mutexes that nobody waits for. A Session belongs to one goroutine.
// A Memo is immutable.
package share
