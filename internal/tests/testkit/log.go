package testkit

import (
	"bytes"
	"strings"
	"sync"
)

// Log is a log that some goroutines write and others read. It holds all that is
// written until Take. The zero Log is empty.
type Log struct {
	// Skip, if set, reports which writes are left out. It is set before the first write.
	Skip func(line []byte) bool

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	if l.Skip != nil && l.Skip(line) {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// Count returns how often text was written since the last Take.
func (l *Log) Count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// Take returns the text written since the last Take.
func (l *Log) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}
