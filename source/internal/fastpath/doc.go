// Package fastpath is what package source uses of internal/wire: decoders of
// kinglet's own, and what they share.
//
// With the tag kinglet_safe the same names stand for types that do nothing, and
// Linked is false. Such a build does not link internal/wire, nor anything below it
// that imports unsafe, and source leaves every object to apimachinery's decoders.
package fastpath
