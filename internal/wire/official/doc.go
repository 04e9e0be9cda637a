// Package official calls apimachinery's own decoders, and with them those of the
// types. It turns their panics into errors. What they return is what kinglet's
// decoders have to return.
package official
