// Package rules has no code but tests: of docs/alerts.yaml and docs/grafana/kinglet.json,
// on samples of real informers.
//
// Each test has an informer of an API server in memory (kinglettest/apiserver) go through
// something, in virtual time, and scrapes it every 15 seconds. Prometheus' own engine then
// evaluates the rules, or the dashboard's queries, on what was scraped.
//
// It is a module of its own, outside go.work, since that engine requires more than all of
// kinglet's modules together.
package rules
