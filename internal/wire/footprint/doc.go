// Package footprint estimates the memory of objects, and of everything they refer to,
// from a sample of them.
//
// Objects of an informer share equal parts. A part counts once, however many objects
// have it, so the estimate needs to know how many objects have each part of a sampled
// object. A random sample of 256 out of 100,000 does not show that: a part of ten
// objects appears once in it, like a part of one. But objects that share parts are close
// to each other, since they are in key order. So some objects are anchors, and each is
// compared with others at distances that double. An object at a distance between 64 and
// 128 that has a part represents the 128 objects at such distances, on both sides; one
// that lacks it represents as many that lack it. Whatever the distance, an object is as
// likely to be sampled as any other.
package footprint
