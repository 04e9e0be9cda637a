// Package connection has what sources do about connections: connections of a
// source's own, pings that notice a dead peer, and reads that do not stop at the
// end of a chunk.
package connection
