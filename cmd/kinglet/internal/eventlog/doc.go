// Package eventlog formats changes: one aligned line an event for people, or one JSON
// document an event for programs. It writes into buffers only.
package eventlog
