// Package controller is the last stage: it runs a function of the program for each key
// that something happened to, and retries it until it succeeds.
//
//	pods, statefulSets := ... // *kinglet.Informer
//	c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](reconcile), controller.Options[kinglet.Key]{Workers: 8})
//	controller.Watch(c, statefulSets, controller.Self)
//	controller.Watch(c, pods, controller.Owner[*corev1.Pod](schema.GroupKind{Group: "apps", Kind: "StatefulSet"}))
//	set := kinglet.NewSet(pods, statefulSets)
//	err = set.AddController(c)
//	err = set.Run(ctx)
//
// A controller does not run the informers that it watches, which may serve others. A
// kinglet.Set runs both, and stops the informers after the last run.
//
// # Guarantees
//
// Each is listed with the tests that show it:
//
//   - No key runs twice at once, and a change during a run makes exactly one more:
//     TestAKeyNeverRunsTwiceAtOnceAndRunsAgainAfterAChange, and those of
//     internal/keyqueue.
//   - No key starves, whatever is added, fails or waits: a head start is a time.
//     TestLiveChangesOvertakeTheInitialListWhichEndsAllTheSame.
//   - No run begins before each watched informer has synced and all of its initial
//     objects are in the queue: TestNoRunBeginsBeforeAllInputsAreInTheQueue.
//   - A stop drains: TestAStopDrainsAndThenGivesUpLeadership.
//   - A failure is retried, and concerns its key alone: a panic, an error or a timeout
//     of one key ends nothing else. TestWhatFailsIsTriedAgainAsItAsksFor.
//
// # What a key costs
//
// A key that has no run ahead costs nothing, unless it failed for good; of these the last
// 1024 are remembered. A key that waits costs as much as in client-go's queue: 174 bytes
// for one of two strings, beside the strings (BenchmarkAMillionWaitingKeys in
// internal/keyqueue). Run has one goroutine, and one for each worker.
//
// # Delays
//
// A key waits for at most one time. When a run begins, it ends all delays that were
// requested before. Result.After sets the only one, a change runs the key at once, and
// Cancel forgets it. (client-go's queue keeps a delayed Add beside an immediate one:
// kubernetes/kubernetes#133560.)
//
// # Leadership
//
// With an Elector, informers run and the queue fills from the beginning. Runs begin
// when this replica leads, and leadership is released after the last of them. If
// leadership is lost instead, the contexts of all runs end at once: what a run still
// writes then races the next leader, and only resource versions protect against that.
package controller
