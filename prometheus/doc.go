// Package prometheus serves what the informers and controllers of a kinglet.Set say of
// themselves as Prometheus metrics.
//
//	set := kinglet.NewSet(pods, nodes)
//	registry.MustRegister(prometheus.NewCollector(set, prometheus.Options{}))
//
// A [Collector] is pulled: it reads package status when it is scraped and keeps nothing
// between scrapes. No metric is registered when something happens, so none can leak: an
// informer that has left the set has no series in the next scrape. A scrape holds an
// informer's locks only to copy its counters, and none of its store's.
//
// [ClientGo] serves the metrics that client-go's packages report themselves, under the
// names that existing dashboards query.
//
// docs/observability.md has a table of all metrics, the alerts and the dashboard.
//
// # Labels
//
// Metrics of an informer have the labels informer (its name), group, version and
// resource. Further labels have a fixed set of values, or are names that the program
// gave to handlers, indexes and controllers. No label is ever a namespace, the key of an
// object, or the text of an error.
//
// The label informer is unique within a collector. Where two informers have one name, the
// second is name#2, in the order in which the set has them; the same holds for handlers of
// one informer, and for controllers.
package prometheus
