// Package cluster runs a real Kubernetes control plane in one process: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, with simulated
// nodes on which pods become Ready. It is for tests and demonstrations, in the
// manner of controller-runtime's envtest, without binaries to download.
//
// Everything listens on the loopback interface only: the API server over TLS,
// with tokens and RBAC, etcd on a Unix socket in a folder of this user's. The
// controller manager and the scheduler open no port.
//
// # In tests
//
//	c, err := cluster.Start(ctx, cluster.Options{Nodes: 3, Deployments: 10})
//	if err != nil { … }
//	defer c.Stop(ctx)
//	client, err := kubernetes.NewForConfig(c.RESTConfig())
//
// Components are stopped hard, as by a kill, and started again one by one on
// the same data and at the same address: StopComponent, StartComponent.
//
// # Restored backups
//
// Backup and Restore are "etcdctl snapshot save" and "etcdutl snapshot restore".
// Seen of kube-apiserver 1.36 after a restoration, by clients that know version V
// from before, while the server has not come to V again:
//
//	list, consistent          its own version, which is older
//	list not older than V     504 after 3 s, "Too large resource version"
//	watch-list not older      200 after 3 s, and ERROR 504 with the same cause
//	watch from V              200, and nothing: no event, no bookmark, not even
//	                          the one 2 s before the timeout. Once the server has
//	                          passed V, the events after V, with no sign of a gap
//
// With a bump of the revision, a watch from V ends with 410 at once.
//
// An API server that was not restarted with etcd keeps its watch caches: lists
// of any kind, consistent ones too, show objects and versions that no longer
// exist, while a get of one object shows the truth. Its watch of etcd is silent
// in the same way, so that it goes on at V with a gap and stays wrong until it
// is restarted.
//
// # Limits
//
// Kubernetes keeps state once a process (feature gates, klog, configz,
// metrics), so there is one Cluster at a time, and while it lives klog writes
// to its log. A component that wants to end the process, as the API server does
// when a start hook fails, ends only the goroutine that wanted it; Options.Failed
// is told.
//
// # What lives where
//
// One file a component (etcd.go, apiserver.go, controllermanager.go,
// scheduler.go, simulated.go); dir.go and pki.go own the folder, process.go all
// that is process-wide. Package nodes simulates nodes and package churn changes
// deployments; both know nothing but client-go.
//
// Locks: Cluster.op is held while something is started or stopped, Cluster.mu
// for moments under it. No callback is called under mu; Options.Started is
// called under op, so it must not start or stop anything.
package cluster
