package prometheus

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	core "github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// fixed is an informer that says what it was made of.
type fixed struct {
	status  status.Informer
	details status.Details
}

func (f *fixed) Status() kinglet.Status  { return f.status }
func (f *fixed) Inspect() status.Details { return f.details }

// fixedController is a controller that says what it was made of.
type fixedController struct{ status status.Controller }

func (f *fixedController) Status() status.Controller         { return f.status }
func (f *fixedController) Inspect() status.ControllerDetails { return status.ControllerDetails{} }

// forbidden is in every place that must not come into a label.
const forbidden = "must-not-be-in-a-label"

// start is when everything in these tests happened.
var start = time.Unix(1_700_000_000, 0)

func someDurations() core.Snapshot {
	var h core.Histogram
	for _, d := range []time.Duration{time.Microsecond, time.Millisecond, time.Second, time.Hour} {
		h.Observe(d)
	}
	return h.Snapshot()
}

// fill returns counts from 1 on.
func fill(counts []uint64) {
	for i := range counts {
		counts[i] = uint64(i) + 1
	}
}

// full is an informer of which everything is known, and all of it is bad.
func full(name string) *fixed {
	bad := errors.New(forbidden)
	st := status.Informer{
		Name:        name,
		Resource:    schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Objects:     17,
		Quarantined: 2,
		Failures:    3,
		Mutations:   4,
		Budget:      status.Budget{Bytes: 1000, Used: 990, Whole: 500, Short: 3, Since: start},
		OwnWrites:   own.Status{Entries: 1, Oldest: start, Confirmed: 2, Late: 3, Expired: 4, Dropped: 5},
		Consistency: consistency.Status{Checks: 5, NotChecked: 1, Sweeps: 2, Compared: 3, Skipped: 4, Differences: 6, Relists: 7, Last: start, LastNotChecked: bad},
		SharingID:   7,
		Sharing:     status.Sharing{Values: 1, Bytes: 2, MaxBytes: 3, Hits: 4, Misses: 5},
		Status: reflector.Status{
			Phase: reflector.BackingOff, Since: start, Synced: true, ResourceVersion: "12345", Epoch: 1,
			LastError: bad, LastErrorTime: start, Degraded: true, Received: 5, Remaining: 6,
			Bytes: 1000, Lists: 1, Streams: 2, Watches: 3, Probes: 4, Published: 5,
			Events: 10, Bookmarks: 11, EventsByType: reflector.EventCounts{Added: 1, Modified: 2, Deleted: 3},
			Duplicates: 12, LastEvent: start, SilentWatches: 13, BookmarkInterval: time.Minute,
			LastContact: start, Unreadable: 14, Errors: 15,
			ReadPath: source.ReadPath{Path: source.PathClient, Why: &source.InterceptError{Source: forbidden, Err: bad}, Since: start},
		},
	}
	fill(st.FailuresByStage[:])
	fill(st.ListsByCause[:])
	fill(st.WatchEnds[:])
	for i := range st.ErrorsBy {
		fill(st.ErrorsBy[i][:])
	}
	h := kinglet.Status{}.Handlers
	for _, name := range []string{"first", "second"} {
		h = append(h, status.Handler{
			Name: name, Synced: true, Pending: 3, OldestPending: start, InFlight: 2,
			CallKey: store.Key{Namespace: forbidden, Name: forbidden}, CallSince: start,
			Calls: someDurations(), Folded: 4, Panics: 5, DeliveredThrough: "12", Err: bad,
		})
		fill(h[len(h)-1].Changes[:])
	}
	st.Handlers = h
	key := store.Key{Namespace: forbidden, Name: forbidden}
	return &fixed{st, status.Details{
		Indexes: []status.Index{{Name: "by-node", Values: 1, Entries: 2, Bytes: 3, Largest: forbidden, LargestObjects: 4}},
		Memory: status.Memory{Sampled: 1, At: start, Objects: 2, Keys: 3,
			LargestObjects: []status.Sized{{Key: key, Bytes: 1}}, LargestNamespaces: []status.Sized{{Key: key, Bytes: 1}}},
		Quarantined: []status.Quarantined{{Key: key, Err: forbidden, Since: start}},
	}}
}

// fullController is a controller of which everything is known.
func fullController(name string) *fixedController {
	return &fixedController{status.Controller{
		Name: name, Workers: 2, GateReason: forbidden, GateSince: start,
		Queued: 1, Running: 2, Waiting: 3, Failing: 5, Again: 1, OldestQueued: start, OldestRun: start, Unfinished: 90 * time.Second,
		Succeeded: 6, Failed: 7, Terminal: 8, Panicked: 9, TimedOut: 10, Unmapped: 11, Adds: 12, Retries: 13,
		Runs: someDurations(), Waits: someDurations(),
		Hot: []status.HotKey{{Key: forbidden, Runs: 11, Causes: map[string]int{forbidden: 11}}},
	}}
}

// healthy is an informer as most are: synced, watching, with one handler.
func healthy(name string) *fixed {
	st := status.Informer{
		Name:     name,
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Objects:  1000,
		Status: reflector.Status{
			Phase: reflector.Watching, Since: start, Synced: true, ResourceVersion: "12345678",
			Bytes: 1 << 30, Streams: 1, Watches: 20, Published: 1, Events: 100_000, Bookmarks: 200,
			EventsByType: reflector.EventCounts{Added: 1000, Modified: 98_000, Deleted: 1000},
			LastEvent:    start, LastContact: start, ReadPath: source.ReadPath{Path: source.PathProtobuf},
		},
		Handlers: []status.Handler{{Name: "controller", Synced: true, Calls: someDurations()}},
	}
	st.ListsByCause[reflector.ListStart] = 1
	st.WatchEnds[reflector.WatchTimeout] = 19
	return &fixed{status: st}
}

// setOf returns a set that shows informers.
func setOf(informers ...kinglet.Observable) *kinglet.Set {
	set := kinglet.NewSet()
	for _, inf := range informers {
		set.Observe(inf)
	}
	return set
}
