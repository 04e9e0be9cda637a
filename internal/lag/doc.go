// Package lag measures how far a store is behind its server: the age of the
// oldest version that the server has and the store has not.
//
// The server is asked for its version now and then, and when it was asked is
// remembered. As long as the store has not reached an answer, it may be behind
// since then. It need not be: a server's version counts writes to everything,
// so that of a quiet collection stands far behind the server's, with nothing
// missing. An answer that the store does not reach within a moment is
// therefore put to the proof: a short watch from the store's version shows the
// first change that the store has not seen, or that there is none.
//
// Meter is the arithmetic, pure and without a clock; Probe is what asks.
// Neither holds a lock while the other is called. Informers have one
// where Options.LagProbe asks for it, and so has the command line.
package lag
