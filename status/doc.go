// Package status is what informers and controllers say of themselves at one
// moment, as plain data: their pages, metrics, logs and health checks are made of it
// and of nothing else.
//
// It is pulled. Nobody registers anything when an object, an error or a request
// comes by; what is counted are fixed numbers in the informer, and what has stopped
// has no status any more. So nothing that reads it can leak or slow the informer.
//
// [Informer] and [Controller] cost about a microsecond. [Details] cost more, with
// what the informer holds, and are for whoever looks at one informer.
//
// [Informer.Problems] is the one place that decides whether an informer is well,
// and says what is wrong, since when, and what to do.
package status
