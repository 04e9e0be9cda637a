// Package kinglettest helps to test programs that use informers, kinglet's or
// anybody's.
//
// [StartCluster] runs a real Kubernetes control plane for a test, as a program
// of its own: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// simulated nodes, started in about three seconds, without Docker and without
// binaries to download. Components can be stopped hard and started again, so
// that a test can see what its informers make of an outage, an expired version
// or a token that was revoked.
//
// For tests that need no server, [sourcetest.NewStatic] is a source in memory that
// works in a testing/synctest bubble.
//
// A cluster's methods may be called from any goroutine. Nothing here is imported
// by the library itself.
//
// [sourcetest.NewStatic]: https://pkg.go.dev/github.com/kinglet-go/kinglet/source/sourcetest#NewStatic
package kinglettest
