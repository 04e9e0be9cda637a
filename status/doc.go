// Package status describes informers and controllers at one moment, as plain data:
// their pages, metrics, logs and health checks are made from it alone.
//
// Status is pulled. Nothing is registered when an object, an error or a request
// comes by; the informer keeps a fixed number of counters, and what has stopped has
// no status any more. So nothing that reads it can leak or slow the informer.
//
// [Informer] and [Controller] cost about a microsecond. [Details] cost more, in
// proportion to what the informer holds, and are for looking at one informer.
//
// [Informer.Problems] is the one place that decides whether an informer is well,
// and says what is wrong, since when, and what to do.
package status
