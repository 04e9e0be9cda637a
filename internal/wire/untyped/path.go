package untyped

import "github.com/kinglet-go/kinglet/internal/wire/share"

// path is a place in objects: a 64-bit hash of the names on the way to it. The
// elements of an array are one place. A collision of two places costs only time.
type path uint64

func (p path) member(nameHash uint64) path { return (p ^ path(nameHash)) * 0x9e3779b97f4a7c15 }

func (p path) element() path { return p*0x9e3779b97f4a7c15 + 1 }

// place returns the path as a filter counts it.
func (p path) place() share.Place { return share.PlaceOfPath(uint64(p)) }
