// Package interop shows that kinglet works with its neighbours: generated,
// dynamic and metadata clients, and controller-runtime, each the real one, over
// TLS and HTTP/2 with authentication. There is nothing to import.
package interop
