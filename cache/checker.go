package cache

import (
	"fmt"
	"strings"

	"github.com/kinglet-go/kinglet"
)

// checker is a DoneChecker for an informer or a handler. It can say why it is
// not done.
type checker struct {
	name string
	done <-chan struct{}
	// status is the informer's.
	status func() kinglet.Status
}

var _ DoneChecker = checker{}

// Name returns what is waited for.
func (c checker) Name() string { return c.name }

// Done returns a channel that is closed when it has happened.
func (c checker) Done() <-chan struct{} { return c.done }

// IsDone reports whether what checker waits for has happened, without waiting.
func IsDone(checker DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	default:
		return false
	}
}

// notDone describes why checker is not done: its name, and for one of this
// package what its informer is doing and what failed last.
func notDone(c DoneChecker) string {
	ours, ok := c.(checker)
	if !ok {
		return c.Name()
	}
	st := ours.status()
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", ours.name, strings.ToLower(st.Phase.String()))
	if st.LastError != nil {
		fmt.Fprintf(&b, ": %v", st.LastError)
	}
	b.WriteByte(')')
	return b.String()
}
