package follow

import (
	"errors"
	"fmt"
	"strings"
)

// ErrGaveUp is returned when no collection ever worked, and none was going to. The reason
// has been shown.
var ErrGaveUp = errors.New("gave up")

// ErrOutputClosed is returned when the reader of stdout has gone.
var ErrOutputClosed = errors.New("output closed")

// NeverSyncedError names the collections that were never complete, each with its error.
type NeverSyncedError struct {
	Collections []string
	// Of is how many there were.
	Of int
}

func (e *NeverSyncedError) Error() string {
	if e.Of == 1 {
		return "never synced: " + strings.Join(e.Collections, ", ")
	}
	return fmt.Sprintf("%d of %d resources never synced: %s", len(e.Collections), e.Of, strings.Join(e.Collections, ", "))
}
