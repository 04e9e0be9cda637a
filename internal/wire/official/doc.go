// Package official calls apimachinery's own decoders, and with them those of the
// types. It turns their panics into errors. kinglet's decoders must return the same
// results.
package official
