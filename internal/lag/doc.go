// Package lag measures how far a store is behind its server: the age of the
// oldest version that the server has and the store has not.
//
// The server is asked for its version periodically, and the time of each question is
// remembered. As long as the store has not reached an answer, it may be behind since
// then. It need not be: a server's version counts writes to everything, so the version
// of a quiet collection is far behind the server's, with nothing missing. An answer
// that the store does not reach within a moment is therefore proven: a short watch
// from the store's version shows the first change that the store has not seen, or that
// there is none.
//
// Meter is the arithmetic, pure and without a clock; Gauge asks the server and holds
// no lock during a request. The command line has one.
package lag
