// Package kinglettest helps to test programs that use informers of any library.
//
// [StartCluster] runs a real Kubernetes control plane for a test, as a program
// of its own: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// simulated nodes, started in about three seconds, without Docker and without
// binaries to download. Components can be killed and started again, so that a test can
// see how its informers handle an outage, an expired resource version or a revoked token.
//
// For tests that need no server, [sourcetest.NewStatic] is a source in memory that
// works in a testing/synctest bubble.
//
// The methods of a cluster are safe for concurrent use. The library itself imports none of
// this.
//
// [sourcetest.NewStatic]: https://pkg.go.dev/github.com/kinglet-go/kinglet/source/sourcetest#NewStatic
package kinglettest
