package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// listener is what one handler was told, and everything that is wrong with it.
type listener struct {
	name string
	h    *history

	mu sync.Mutex
	// What follows is guarded by mu.

	known   map[string]life
	deletes map[types.UID]int
	// calls counts what it was told after the initial state.
	calls int
	wrong []string
	// delays of what was sent at full speed, and steadily, which begins after
	// version fullSpeed.
	delays    [2]delays
	fullSpeed int
	// await is closed once version awaited was told.
	awaited int
	await   chan struct{}
}

func newListener(name string, h *history, fullSpeed int) *listener {
	return &listener{name: name, h: h, known: map[string]life{}, deletes: map[types.UID]int{}, fullSpeed: fullSpeed}
}

// expect returns a channel that is closed once version was told.
func (l *listener) expect(version int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaited, l.await = version, make(chan struct{})
	return l.await
}

func (l *listener) added(obj object, initial bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, ok := l.known[obj.Name]; ok {
		l.complain("%s was added while it was known as %v", obj.Name, was)
	}
	l.learn(obj, initial)
}

func (l *listener) updated(old, obj object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, ok := l.known[obj.Name]
	switch {
	case !ok:
		l.complain("%s was updated, and not known", obj.Name)
	case was.UID != obj.UID:
		l.complain("%s was updated from %s to %s, another object", obj.Name, was.UID, obj.UID)
	case old.UID != was.UID || versionOf(old) != was.Version:
		l.complain("%s was updated from %s, which is not what was told last, %d", obj.Name, old.ResourceVersion, was.Version)
	case versionOf(obj) <= was.Version:
		l.complain("%s went from version %d to %s", obj.Name, was.Version, obj.ResourceVersion)
	}
	l.learn(obj, false)
}

func (l *listener) deleted(obj object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, ok := l.known[obj.Name]; !ok || was.UID != obj.UID {
		l.complain("%s (%s) was deleted, and known as %v", obj.Name, obj.UID, was)
	}
	l.calls++
	l.deletes[obj.UID]++
	delete(l.known, obj.Name)
}

func (l *listener) learn(obj object, initial bool) {
	v := versionOf(obj)
	l.known[obj.Name] = life{obj.UID, v}
	if initial {
		return
	}
	l.calls++
	part := 0
	if v > l.fullSpeed {
		part = 1
	}
	l.delays[part].add(time.Since(l.h.start) - l.h.sent[v])
	if l.await != nil && v >= l.awaited {
		close(l.await)
		l.await = nil
	}
}

// complain keeps the first few.
func (l *listener) complain(format string, args ...any) {
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, l.name+": "+fmt.Sprintf(format, args...))
	}
}

// judge compares what was told with the history, which is over; initial are
// the objects that the handler was told of at first. It returns how many
// deletes of those were owed and what is wrong.
func (l *listener) judge(initial []object) (owed int, wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	truth := l.h.truth()
	for name, want := range truth {
		if got := l.known[name]; got != want {
			l.complain("at the end %s is %v, and was told as %v", name, want, got)
		}
	}
	for name, got := range l.known {
		if _, ok := truth[name]; !ok {
			l.complain("at the end %s is gone, and was told as %v", name, got)
		}
	}
	for _, obj := range initial {
		want := 0
		if l.h.died[obj.UID] {
			want = 1
			owed++
		}
		if got := l.deletes[obj.UID]; got != want {
			l.complain("%s (%s) was told as deleted %d times, not %d", obj.Name, obj.UID, got, want)
		}
	}
	return owed, l.wrong
}

func (l *listener) told() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func versionOf(obj object) int {
	// History writes nothing else.
	v, _ := strconv.Atoi(obj.ResourceVersion)
	return v
}
