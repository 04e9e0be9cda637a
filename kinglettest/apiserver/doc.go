// Package apiserver is a Kubernetes API server in memory, for tests of any informers. It
// sends over the wire what a real server sends, and can be made to fail in every way in
// which real ones do.
//
//	storage := apiserver.NewStorage(apiserver.Pods, apiserver.ConfigMaps)
//	server := apiserver.New(storage, apiserver.Options{})
//	defer server.Close()
//	client := kubernetes.NewForConfigOrDie(server.Config())
//	storage.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
//
// # What lives here
//
// A [Storage] stands for etcd: it has objects, one revision for all of them, and the
// history until it is compacted. A [Server] answers requests from a Storage, and may lag
// behind it ([Server.Hold]). Several may share a Storage and an address, as the replicas of
// a control plane do ([Options.Replicas]). A [Fault] is what goes wrong with one answer. A
// function chooses it ([Options.Inject]): a [Script], a random [Plan], or your own.
//
// # What is real
//
// JSON, YAML and protobuf, lists and frames of watches, encoded by apimachinery's own
// serializers and never by kinglet's; gzip; lists in pages with continue tokens
// and remaining counts; every meaning of resourceVersion and
// resourceVersionMatch that the API documents; watches from a version, from
// "0", from nothing, and watch-lists (KEP-3157) with the bookmark that ends the
// initial events; label and field selectors, also where an object comes into
// one or leaves it; bookmarks; timeouts; PartialObjectMetadata; create, get, update and patch
// with conflicts, /status and generations; merge, JSON and strategic merge patches; dry runs;
// validation of metadata, by each kind's rule for names, of fields that are unknown or twice
// there (fieldValidation), and of options; delete with preconditions and finalizers, answered, by
// kind, with the object or a Status, deletes of collections, page by page; discovery, /version
// and health checks, so that clients need no RESTMapper of their own; Status objects with the
// reasons, codes and causes of the real one. Tests of package e2e compare the answers with those
// of a real control plane: to a script, to random requests, to names, to the life of an object of
// every kind, and to discovery.
//
// [Options.Version] plays Kubernetes 1.33 to 1.37; docs/kubernetes.md of the
// repository lists what they answer differently, with the sources.
//
// It does not have
//   - admission, defaulting, and validation of anything but metadata: they belong to kinds,
//     of which it knows none. A custom resource has no schema here: it keeps every field outside
//     its metadata, and none of them is unknown to fieldValidation=Strict;
//   - authorization, and namespaces as objects: any namespace exists;
//   - server-side apply: an apply is a merge, without conflicts;
//   - managed fields: none are made, and a write that would change nothing else is no write;
//   - Warning headers, as those about unknown fields: they change nothing;
//   - the limit of etcd on the size of an object: only that of a request is limited;
//   - garbage collection: an object stays when its owners have gone;
//   - the order of checks: a request with two errors may be answered with the other one;
//   - the paths below /watch, the method CONNECT, and PartialObjectMetadata in v1beta1, which no
//     client uses any more;
//   - the refusal of a patch that removes apiVersion: of a built-in kind it changes nothing
//     here (a real server: 400), of a custom resource the answer is 422 (500);
//   - POST to the name of a custom resource, which creates it there, and PUT and PATCH of a
//     collection of them, of which a server first looks at the body: 405 here;
//   - subresources other than status;
//   - Tables (as=Table): the answer is in the next form of Accept, or 406;
//   - aggregated discovery, short names, categories, and OpenAPI; requests for discovery have
//     no faults, and are not counted;
//   - graceful deletion and propagation: what has no finalizers is gone at once;
//   - creation by an update, which leases, limit ranges, services and the kinds of RBAC allow,
//     among others;
//   - a resource in two versions, and conversion between versions: Storage.Define panics.
//
// # Time
//
// Connections are pipes in memory unless [Server.Listen] is used, and all
// waiting is done with package time, so server, client and informer live in a
// testing/synctest bubble. [Server.Hold] and [Server.Advance] let a test decide
// which event arrives when.
package apiserver
