// Package machine is the protocol of list and watch as a pure state machine:
// an input goes in, effects come out, and nothing happens in between. It has
// no goroutine, no clock, no randomness and no objects, and it imports nothing
// that could give it one; a test checks that.
//
// The driver owns all of those. Its loop is
//
//	effects := m.Step(Input{Kind: Start})
//	for {
//		carry out effects, in order
//		the last of List, Watch and Wait among them says what to do now:
//			List, Watch: send the request; step with a Page for each page, an
//			             Event for each event, and Ended when it is over
//			Wait:        wait; step with a Timer
//	}
//
// Exactly one request or one wait is under way at any time, until Stopped.
// Pages and events belong to the driver: each effect refers to the page or
// event of the input that it answers. An effect that follows Abandon replaces
// the request under way: the driver ends that request, ignores the rest of it,
// and steps with no Ended for it.
//
// Time is the driver's as well: each input says when it came (At), and
// durations are returned as ranges from which the driver draws.
//
// state.go documents the states, the transitions between them and the fields.
// There is one file per concern: list.go, initial.go (streamed initial
// events), watch.go, heal.go, cadence.go (idle watches), probe.go (restored
// servers), backoff.go.
//
// A Machine may be used by one goroutine at a time.
package machine
