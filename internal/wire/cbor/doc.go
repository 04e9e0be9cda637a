// Package cbor decodes Kubernetes objects from CBOR (KEP-4222) by apimachinery's
// decoder, and shares what is equal by structure.
//
// Not by bytes: an API server shuffles the members of every map and struct that
// it writes, so equal objects hardly ever have equal bytes. Package structure
// compares the decoded object with its last version, and looks its parts up in
// the same table.
package cbor
