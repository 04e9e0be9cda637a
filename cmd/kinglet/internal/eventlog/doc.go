// Package eventlog words changes: one aligned line an event for people, or one
// JSON document an event for programs. It writes into buffers only; where the
// bytes go is another's business.
package eventlog
