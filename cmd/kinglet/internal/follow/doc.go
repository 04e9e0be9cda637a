// Package follow is a session of kinglet watch: one informer for each
// resource, what they tell written to a screen, a look at all of them several
// times a second, and a summary at the end.
//
// Decisions and words are pure and stand in files of its own (verdict,
// notices, statusline, summary, rate); session drives it. Handlers run on
// their informer's goroutine and touch only their own collection, whose
// counters are atomic, and the screen. No lock is held while another
// package is called, except the notices' own.
package follow
