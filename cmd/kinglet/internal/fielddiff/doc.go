// Package fielddiff says in one line how two versions of an object differ.
//
// Compare finds the leaves that differ, Summarize chooses and words the ones
// that a person wants to see, and Highlights does the same for an object that
// has no other version to be compared with. Everything here is pure and works
// on the maps that unstructured objects are made of; nothing is modified.
package fielddiff
