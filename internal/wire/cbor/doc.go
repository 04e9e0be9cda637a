// Package cbor reads the syntax of CBOR (RFC 8949): heads, members of maps, texts.
// It does not decode values.
package cbor
