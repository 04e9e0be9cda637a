// Package queues is the contract of k8s.io/client-go/util/workqueue as a test
// suite, as package conformance is that of tools/cache: it takes the
// constructors under test as parameters, and runs over client-go and over
// kinglet's drop-in package workqueue.
//
//	func TestConformance(t *testing.T) {
//		queues.Run(t, queues.ClientGo(), queues.Options{Expect: queues.ClientGoBehaviour})
//	}
//
// The suite has rows of tests, whose names are sentences that state what holds,
// and [Differences]: places where client-go is known to be wrong or weak, each
// with a scenario, its result on client-go, and the correct result.
//
// Most tests run in testing/synctest bubbles, and every goroutine has ended when
// a test returns. One test sets the process-wide provider of metrics, which can
// be set once in a process: nothing else should.
package queues
