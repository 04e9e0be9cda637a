// Package interop shows that kinglet works with its neighbours: generated,
// dynamic and metadata clients, and controller-runtime, each the real one, over
// TLS and HTTP/2 with authentication. It is a module of its own, so that what
// the neighbours depend on stays out of the library's. There is nothing to
// import.
package interop
