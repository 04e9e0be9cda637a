// Package mutation finds writes into objects of a store. They are
// read-only, and share memory with each other: a write through one reaches
// every object that has the same slice, map or pointer somewhere inside.
//
// # How
//
// A [Detector] receives every object before other code sees it
// ([Detector.Entering]). It keeps a deep copy of each object that it watches, by the
// object's DeepCopyObject, and compares the two from time to time. A difference becomes an
// [*Error] with the type, the key, the path to the first difference, and both values; then
// the copy is taken again.
//
//   - In full mode every object is watched from before it is stored until it
//     has been out of the store for one whole interval, so that a write into an
//     old version is found too. It costs a second copy of everything, and a
//     comparison of everything every interval. A write into shared memory is reported
//     for each object that has it.
//   - In sampling mode at most Sample objects are watched at a time, half of
//     them drawn from what arrives in an interval, the others from what is
//     stored when it begins. Each is compared once, when the interval ends, and
//     a new sample is drawn. Of n arrivals, Sample/2 * (1 + ln(2n/Sample)) are copied on
//     average, since each has the same chance to stay in the sample.
//
// # What counts as a difference
//
// Values are compared, not their representation. Times are equal if they are the same
// instant; quantities if they are the same number in the same format, whatever they
// cache. A nil slice or map differs from an empty one. Fields that are not exported are
// not compared: methods that only read may write these.
//
// # Caveats
//
// Comparing an object while it is being written is a data race, as is every other
// read of it, and the Go runtime ends a process in which a map is read and written at
// the same time. The detector adds one more reader to those of the program.
//
// A copy of memory that was written to earlier contains the write. In full mode the
// older objects that share the memory are watched, so the write is found; a sample
// may miss it.
//
// client-go's CacheMutationDetector, which an environment variable turns on,
// copies every object too and compares all of them every second, for two to
// four minutes each, whether they are in the store or not. It does not report which
// object was written, prints both in full, and panics.
//
// # Locks
//
// See package engine.
package mutation
