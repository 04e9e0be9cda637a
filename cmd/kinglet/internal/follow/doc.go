// Package follow is a session of kinglet watch: an informer for each resource, whose
// events are written to a screen, a look at all informers several times a second, and a
// summary at the end.
//
// Decisions and texts are pure functions in files of their own (verdict, notices,
// statusline, summary, rate); session drives them. Handlers run on
// their informer's goroutine and touch only their own collection, whose
// counters are atomic, and the screen. No lock is held while another
// package is called, except the notices' own.
package follow
