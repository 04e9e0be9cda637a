// Command peers runs tests that others wrote for client-go's tools/cache and
// util/workqueue over kinglet's packages cache and workqueue, and compares what
// they come to with a list.
//
// The suites are in suite.go: client-go's own tests of both packages, the packages
// of client-go that stand on them (dynamic and metadata informers, tools/watch),
// Kubernetes' libraries whose tests run informers (admission, quota, the watch
// cache, flow control, the peer proxy, endpoint slices, the aggregator), and
// controller-runtime's specs of whatever makes a cache, on a real control plane that is
// like envtest's. Their versions are in testdata/suites.mod and suite.go: the command makes a
// module that requires them, since they would raise what module test requires. Sources come
// from the module cache: nothing of theirs is checked in.
//
// # How the tests come to run over kinglet
//
// Each module that imports one of those packages is copied into a folder below
// bin, with kinglet's import paths in the place of client-go's; tests, informer
// factories, listers, everything (tree.go, swap.go). Packages that a drop-in itself
// needs keep their import of what it replaces. Replace directives then lead the go
// command to the copies. Before a suite runs, go list has to show that no package
// that is linked with it imports client-go's tools/cache or util/workqueue, other
// than kinglet's own: so every informer, reflector, store and queue of the suite is
// kinglet's. That holds for controller-runtime too, whose Options.NewInformer has
// kinglet's constructor as its default then.
//
// client-go's own tests are in the package that they test. They are moved out of
// it, and type-checked: what names something unexported is cut, and so is what
// needs that (cut.go). The output says how many tests that were, and for want of
// which names.
//
// # Module ctrlruntime
//
// The suites ctrlruntime/… run controller-runtime's specs over module ctrlruntime
// (hooked.go). Their tests are as they are, and no import is swapped: an overlay gives
// the go command a cache.go whose New asks a hook first, and one more test file, which
// sets it to ctrlruntime.NewCache and has a test that New returns its caches. Each
// version of controller-runtime runs with the Kubernetes that its go.mod names.
//
//   - pkg/cache, of two versions.
//   - pkg/client, the specs of reading one's own writes: with controller-runtime's client
//     over those caches, and with the module's.
//   - pkg/builder, cluster, controller, internal/controller, manager and source. The
//     overlay also makes NewClient the default of cluster.New, and the module's queue that
//     of controllers. One more test shows that they are.
//
// The tests of controller-runtime's priority queue run in a copy of the package whose
// methods call the module's queue (hookedqueue.go), since the module imports the
// original.
//
// # Operators
//
// The suites operators/… (make operators) run the tests of whole operators, as they are:
// operators.go has their versions. Each runs without kinglet first (plain). The others
// have the operator's module copied as well, so that every import is swapped, and, by
// edits, its tests' managers, caches and clients from module ctrlruntime. A module that requires
// the operator, with the requirements of its go.mod, takes the place of
// testdata/suites.mod. Each package has a control plane of its own, as with envtest.
//
//   - cert-manager: its controllers' tests, over fakes.
//   - Karpenter: the suites whose client has a cache. The client asks after each write
//     until the cache has it: as it is (polling), asking once, and without that client.
//   - Cluster API: four packages of reconcilers and of caches of remote clusters.
//
// # What is expected
//
// expected.txt pins how many tests each suite runs, and lists those that fail on
// purpose, each with a reason and with the words by which the drop-in's doc.go
// describes the difference. A test fails the command if it fails and is not on the
// list, and if it is on the list and passes. The file also lists tests that race
// with what they test: they fail if an informer has synced before they look, so more
// often over a faster one. These have to pass in one of three attempts.
//
// A test that ends its process, or runs until -timeout, fails, and so do those that it
// has kept from running; -run has them without it. A process of a suite has 4 GB of memory.
//
// # When a test fails
//
//	make peers PEERS="-suite client-go/cache -run TestReflectorResync -v"
//	make peers PEERS="-suite client-go/cache -run TestReflectorResync -client-go"
//
// The second runs the same test over client-go's packages.
package main
