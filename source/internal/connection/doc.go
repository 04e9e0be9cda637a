// Package connection sets up connections for sources: connections of a source's
// own, pings that notice a dead peer, and reads that do not stop at the end of a
// chunk.
package connection
