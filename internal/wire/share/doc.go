// Package share is the engine of the decoders: it reuses values for bytes that were
// decoded before. A decoder is a reader, which cuts units out of bytes and builds
// their values. This package decides where a value comes from, whether it is offered
// to others, and what is remembered of it, for all readers by the same steps:
// Decision lists them.
//
// # Two sources of a value
//
// For a run of bytes, a unit, a decoder looks in two places:
//
//   - The previous version of the same object. A Memo is stored with each object: one
//     Record for each of its units, with a hash of the unit's bytes. An equal hash
//     means the same value: it is copied from the previous version, and nothing is
//     decoded or allocated. A previous version is used only with a memo of the same
//     plan for that very object; Version states the rule, and is the only way to
//     the object.
//   - Other objects. Table maps the hash of a unit to its value. A value enters at
//     its second sighting, so that a unique one costs no entry, and the table is
//     bounded in bytes. Evicting an entry affects no object. Sessions that decode a
//     busy stream also have a Recent, so that the first sighting's value is the one
//     that enters, if the second follows soon.
//
// Strings outside of shared values, names for example, are interned:
// Session.String. They count in the same bound.
//
// # Values that are not shared
//
// Some values have state in them that a program may write, a Quantity's text for
// example. A reader counts them in Session.Private. A value that contains one is
// never offered and has no closed record, so each object gets one of its own.
//
// # Memory
//
// Values, strings, and their index stay within the table's bytes, exactly. Strings
// have at most a quarter, so 16 MiB of a table of the default size, a single value
// an eighth. A value that was not looked up between two passes, a minute or more
// apart, is then known by a weak pointer: the table no longer keeps it alive, and
// finds it as long as an object has it. Strings are forgotten once an hour. Both
// follow the garbage collector's cycles (fade.go). The two doorkeepers, which record
// first sightings, grow to 1 MiB each in addition. An unused table takes less than
// 200 bytes, one with a hundred small objects less than 16 KiB.
//
// # Why a hash is enough
//
// Only hashes are compared, since the bytes are gone. A Hash is 96 bits of two keyed
// hashes with random seeds of the Table's own. For two units that are compared, the
// odds of taking one for the other are 1 in 2^96; a decoder that makes a million
// comparisons a second is wrong once in 2.5·10^15 years. The seeds are secret and of
// this process, so nobody can search for objects that collide. The assumption is that
// two maphash seeds act as independent, as it is in the store's hints.
//
// # Who may call what
//
// Table is safe for concurrent use and takes no lock to read. Two kinds of
// mutexes, never held together, order its changes: the table's, for adding a value
// or a string, and a doorkeeper's, for a new generation. A Recent has mutexes that
// are only tried, never waited for. A Session belongs to one goroutine. A Memo is
// immutable.
package share
