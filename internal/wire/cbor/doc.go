// Package cbor reads the syntax of CBOR (RFC 8949): heads, members of maps, texts.
// It makes no values.
package cbor
