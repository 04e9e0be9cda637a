package consistency

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/store"
)

var (
	// ErrNotWatching: the store does not follow the server now, or is already known
	// to differ from it.
	ErrNotWatching = errors.New("the informer is not watching, or degraded")
	// ErrNotExact: the server answered at a version other than the requested one,
	// or with more objects, or without a version.
	ErrNotExact = errors.New("the server does not answer at exactly one version")
)

// Kind is how store and server differ.
type Kind uint8

// The kinds; package kinglet documents them.
const (
	Missing Kind = iota + 1
	Surplus
	OtherVersion
	OtherObject
	OtherContent
)

// String returns "missing", "surplus", "other version" ….
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kinds[0]
}

var kinds = [...]string{"unknown", "missing", "surplus", "other version", "other object", "other content"}

// Inconsistency is one object in which the store differs from the server, at
// one resource version of the collection.
type Inconsistency struct {
	Key  store.Key
	Kind Kind
	// StoreVersion and ServerVersion are the object's resource versions, empty
	// where there is none.
	StoreVersion, ServerVersion string
}

func (e Inconsistency) String() string {
	return fmt.Sprintf("%s: %s (store %q, server %q)", e.Key, e.Kind, e.StoreVersion, e.ServerVersion)
}

// InconsistentError reports that a check found the store to differ from the server.
type InconsistentError struct {
	// Name is the informer's.
	Name string
	// ResourceVersion is the one at which they differ.
	ResourceVersion string
	// Found are the first 16 differences; Differences is how many there are.
	Found       []Inconsistency
	Differences int
}

func (e *InconsistentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informer of %s: store and server differ at resourceVersion %q in %d objects", e.Name, e.ResourceVersion, e.Differences)
	for _, f := range e.Found {
		b.WriteString("; " + f.String())
	}
	if n := e.Differences - len(e.Found); n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}

// Unwrap returns reflector.ErrInconsistent.
func (e *InconsistentError) Unwrap() error { return reflector.ErrInconsistent }

// NotCheckedError is why a check could compare nothing. It is no sign of a
// difference.
type NotCheckedError struct {
	// Name is the informer's.
	Name string
	// Err is ErrNotWatching, ErrNotExact, source.ErrNoExactLists, or the server's error:
	// 410 if it has compacted the version away.
	Err error
}

func (e *NotCheckedError) Error() string {
	return fmt.Sprintf("informer of %s: consistency was not checked: %v", e.Name, e.Err)
}

// Unwrap returns the reason.
func (e *NotCheckedError) Unwrap() error { return e.Err }
