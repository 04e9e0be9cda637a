// Package conformance is the contract of k8s.io/client-go/tools/cache as a
// test suite. It takes the constructors under test as parameters, so that one
// suite runs over client-go, over kinglet's drop-in package cache, and over
// anything else that wants to be used in their place:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.ClientGo(), conformance.Options{Expect: conformance.ClientGoBehaviour})
//	}
//
// # Rows
//
// The suite has rows, one for each group of names of the surface ([Rows]); a
// row has tests, whose names are sentences that state what holds. They assert what the
// documentation of client-go says, and where it is silent, what client-go v0.37.2 does.
//
// # Differences
//
// Where client-go is known to be wrong or weak, an implementation need not
// follow it. [Differences] lists those places: each has a scenario, its result with
// client-go, and the correct result. [Options] says which of the two is
// expected, so the suite also notices when client-go is fixed and the list is out of date.
// [DifferencesDoc] renders the list for a doc comment.
//
// # What it needs
//
// Tests in which time passes run in testing/synctest bubbles, against a
// collection in memory that answers list, watch and watch-list as an API
// server does and fails when told to. Nothing sleeps in real time, and every
// goroutine has ended when a test returns: a goleak.VerifyTestMain in the
// caller's package is a good idea.
//
// While [Run] runs, it replaces the process-wide error handlers of
// k8s.io/apimachinery/pkg/util/runtime. Those limit their rate by the time of the previous
// call, which may have been in another bubble, with another clock. So nothing else that
// reports errors there should run at the same time.
//
// # Files
//
// implementation.go has the constructors under test, and clientgo.go those of client-go.
// run.go runs rows and differences. Each row is in the file of its name. origin.go has the
// collection, recorder.go a handler that records its calls, and fixture.go makes objects.
package conformance
