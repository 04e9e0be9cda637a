package mutation

import (
	"fmt"
	"strings"

	"github.com/kinglet-go/kinglet/store"
)

// Error reports a write into an object after it had been stored.
type Error struct {
	// Type is the object's Go type; for an unstructured one with its kind.
	Type string
	// Key is the object in which the difference was found.
	Key store.Key
	// Path leads to the changed value, by JSON names:
	// "spec.containers[0].env[2].value".
	Path string
	// Was and Is are the value before and after, cut to 120 bytes. A value that is
	// neither text nor a number is described.
	Was, Is string
	// Sharers are the keys of all objects that were in the store when the write was
	// found and that reach the written memory, in key order. Key is among them if it
	// was still stored. Objects of other informers are not searched.
	Sharers []store.Key
	// Unsearched is how many of the stored objects were searched along Path only,
	// since the time allowed was over; they may reach the memory some other way. It
	// is 0 in full mode.
	Unsearched int
}

// named is how many sharers the error text names.
const named = 8

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is read-only and was written to: %s was %s, is %s", e.Type, e.Key, e.Path, e.Was, e.Is)
	switch len(e.Sharers) {
	case 0:
		b.WriteString("; no stored object has this memory any more")
	case 1:
		fmt.Fprintf(&b, "; stored object with this memory: %s", e.Sharers[0])
	default:
		fmt.Fprintf(&b, "; %d stored objects share this memory: ", len(e.Sharers))
		for i, key := range e.Sharers[:min(named, len(e.Sharers))] {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(key.String())
		}
		if more := len(e.Sharers) - named; more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
	}
	if e.Unsearched > 0 {
		fmt.Fprintf(&b, " (%d objects not searched to the end)", e.Unsearched)
	}
	return b.String()
}
