// Package footprint estimates what objects take in memory, with what they refer to,
// from a sample of them.
//
// Objects of an informer share equal parts. A part counts once, however many objects
// have it, so for a part of an object that is sampled it has to be known how many have
// it. A sample of 256 out of 100,000 does not tell: what ten objects have is seen once
// in it, as what one has. But objects that share lie together, for they stand in the
// order of their keys. So some objects are anchors, and each is compared with others at
// distances that double. An object at a distance between 64 and 128 that has a part
// stands for the 128 objects at such distances, on both sides; one that has it not
// stands for as many that do not. Whatever the distance, an object is as likely to be
// sampled as any other.
package footprint
