// Package mutation finds writes into objects of a store. They are
// read-only, and share memory with each other: a write through one reaches
// every object that has the same slice, map or pointer somewhere inside.
//
// # How
//
// A [Detector] is shown every object before anybody else sees it
// ([Detector.Entering]). Of those that it watches it keeps a deep copy of its
// own, and compares the two from time to time. A difference becomes an
// [*Error] with the type, the path, both values, and the keys of all objects in
// the store that reach the very memory that was written.
//
//   - In full mode every object is watched from before it is stored until it
//     has been out of the store for one whole interval, so that a write by
//     a write into an old version is found too. It costs a second copy
//     of everything, and a comparison of everything every interval.
//   - In sampling mode at most Sample objects are watched at a time, half of
//     them drawn from what arrives in an interval, the others from what is
//     stored when it begins. Each is compared once, when the interval ends, and
//     a new sample is drawn. Copying, comparing and searching for sharers
//     together stop for the rest of an interval once they have taken a
//     thousandth of it; one object, or one look along a path in every object,
//     is the most that it goes beyond.
//
// A difference is reported once a place, however many watched objects reach
// it; the last 256 places are remembered. After that the copy is taken anew.
//
// # What counts as a difference
//
// Values, not the way in which they are held. Times are equal if they are the
// same instant; quantities if they are the same number in the same format,
// whatever they cache; a type with fields that are not exported and a method
// Equal if that says so. A nil slice or map is not an empty one. Fields of the
// types of package sync are not looked at.
//
// # Caveats
//
// In a build with the tag kinglet_safe, a copy by reflection has the same in fields
// that are not exported as the object: a write behind one is not found.
//
// To compare an object that is being written to is a data race, as is every
// other read of it, and the Go runtime ends a process in which a map is read
// and written at the same time. The detector adds one more reader to those
// that the program has.
//
// A copy that is taken of memory that was written to earlier holds what was
// written. In full mode the older objects that share it are watched, so it is
// found; a sample may miss it.
//
// client-go's CacheMutationDetector, which an environment variable turns on,
// copies every object too and compares all of them every second, for two to
// four minutes each, whether they are in the store or not. It does not say which
// object, nor which others are hit, prints both in full, and panics.
//
// # Locks
//
// checking is held while objects are compared, mu inside it for as long as it
// takes to add to a list. Neither is held while errors are reported, or
// objects copied on arrival. The writer who calls Entering waits for mu only;
// in full mode it helps out with a check if objects leave so fast that there
// are more old versions than objects.
package mutation
