// Package reflector keeps a Sink equal to a source.Source.
package reflector
