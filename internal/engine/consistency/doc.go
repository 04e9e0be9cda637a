// Package consistency compares the store of an informer with the server, a page of
// the collection at a time. The documentation of kinglet.ConsistencyCheck says what it
// compares, what it finds and what it costs.
//
// # What lives here
//
// A [Checker] belongs to one informer, of which it needs an [Informer]: its status,
// its store at one moment, pages of the server, and two ways to act on a finding.
//
//	options.go      Options, and what a check reports
//	errors.go       the differences that it finds, and why it could not check
//	checker.go      when a check runs, what it requests, and how it acts on findings
//	comparison.go   one page against the store, without I/O
//	cursor.go       the server's order of keys, and where the next check continues
//
// # Locks
//
// See package engine.
package consistency
