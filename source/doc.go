// Package source is where objects come from: adapters for ListerWatchers, the
// REST source and a static one.
package source
