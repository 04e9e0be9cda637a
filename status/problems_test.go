package status

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// well is an informer of which there is nothing to say.
func well() *Informer {
	return &Informer{
		Name:     "pods",
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Status: reflector.Status{
			Phase: reflector.Watching, Since: ago(time.Hour), Synced: true, LastContact: ago(time.Minute),
			BookmarkInterval: time.Minute, ResourceVersion: "7",
		},
		Objects:  3,
		Handlers: []Handler{{Name: "queue", Synced: true}},
	}
}

// refusal is a reason in an API server's words.
type refusal string

func (r refusal) Error() string { return string(r) }

var (
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", refusal(`User "ann" cannot list resource "pods" in API group "" at the cluster scope`))
	errSecret    = &source.ItemError{Stage: source.StageDecode, Err: errors.New("hunter2 is no number")}
)

// fails is a request that has failed for so long, and was tried a second ago.
func fails(err error, since time.Duration) func(*Informer) {
	return func(i *Informer) {
		i.Phase, i.Since = reflector.BackingOff, ago(time.Second)
		i.LastError, i.LastErrorTime, i.FailingSince = err, ago(time.Second), ago(since)
		i.Recent = reflector.RecentErrors{Last: err, LastTime: ago(time.Second), Count: 9}
	}
}

func TestEachStateOfAnInformerHasItsProblem(t *testing.T) {
	for _, c := range []struct {
		name     string
		state    func(*Informer)
		severity Severity
		cause    Cause
		since    time.Duration // ago; negative for unknown
		what, do string        // parts
	}{
		{"forbidden", fails(errForbidden, time.Minute), Broken, CauseForbidden, time.Minute, "forbidden (403)", "grant list and watch on pods to ann"},
		{"forbidden just now", fails(errForbidden, time.Second), Broken, CauseForbidden, time.Second, "forbidden (403)", "grant"},
		{"unreachable just now", fails(syscall.ECONNREFUSED, 5*time.Second), Warning, CauseUnreachable, 5 * time.Second, "connection refused", "API server runs"},
		{"unreachable for long", fails(syscall.ECONNREFUSED, time.Hour), Broken, CauseUnreachable, time.Hour, "connection refused", "API server runs"},
		{"unreachable, and nothing to read", func(i *Informer) { fails(syscall.ECONNREFUSED, time.Second)(i); i.Synced = false },
			Broken, CauseUnreachable, time.Second, "connection refused", ""},
		{"a new watch that nothing came on", func(i *Informer) {
			fails(syscall.ECONNRESET, 2*time.Minute)(i)
			i.Phase, i.Since, i.LastErrorTime = reflector.Watching, ago(time.Hour), ago(20*time.Second)
		}, Warning, CauseUnreachable, 2 * time.Minute, "a new watch was begun 20s ago", "wait for the first event or bookmark, which comes within a minute even if nothing changes; if none does: see whether the API server runs"},
		{"watches that nothing comes on for long", func(i *Informer) {
			fails(syscall.ECONNRESET, time.Hour)(i)
			i.Phase, i.Since, i.LastErrorTime = reflector.Watching, ago(time.Hour), ago(20*time.Second)
		}, Broken, CauseUnreachable, time.Hour, "a new watch was begun 20s ago", ""},
		{"of a make that does not know since when", func(i *Informer) { fails(errForbidden, 0)(i); i.FailingSince = time.Time{} },
			Broken, CauseForbidden, time.Second, "403", ""},
		{"not started", func(i *Informer) { i.Status = reflector.Status{} }, Note, CauseNotSynced, -1, "not started", "Run"},
		{"the first list", func(i *Informer) {
			i.Synced, i.Phase, i.Since, i.Received, i.Remaining = false, reflector.Listing, ago(time.Second), 500, 1500
		}, Note, CauseNotSynced, time.Second, "500 of about 2000", ""},
		{"a first list without end", func(i *Informer) {
			i.Synced, i.Phase, i.Since, i.Received = false, reflector.Streaming, ago(2*time.Minute), 500
		}, Warning, CauseNotSynced, 2 * time.Minute, "500 objects so far", "ask for less"},
		{"listing again", func(i *Informer) { i.Phase, i.Since = reflector.Listing, ago(time.Second) }, Note, CauseRelisting, time.Second, "0 objects so far", ""},
		{"stopped", func(i *Informer) { i.Phase, i.Since = reflector.Stopped, ago(time.Minute) }, Note, CauseStopped, time.Minute, "stopped", ""},
		{"expired, and over", func(i *Informer) {
			i.Recent = reflector.RecentErrors{Last: apierrors.NewResourceExpired("too old"), LastTime: ago(time.Minute), Count: 1}
		}, Note, CauseExpired, time.Minute, "this is over: the server no longer has the version (410)", "nothing; if it comes again: "},
		{"expired over and over", func(i *Informer) {
			i.Recent = reflector.RecentErrors{Last: apierrors.NewResourceExpired("too old"), LastTime: ago(time.Minute), Count: 7, FirstTime: ago(9 * time.Minute)}
		}, Warning, CauseExpired, 9 * time.Minute, "again and again, 7 times within ten minutes; the last one, 1m0s ago, is over: ", "too slow"},
		{"a late bookmark", func(i *Informer) { i.LastContact = ago(66 * time.Second) }, Warning, CauseSilent, 66 * time.Second, "nothing came on the watch for 1m6s", ""},
		{"no bookmark", func(i *Informer) { i.LastContact = ago(126 * time.Second) }, Warning, CauseSilent, 126 * time.Second, "a bookmark every 1m0s", "between"},
		{"degraded", func(i *Informer) {
			i.Degraded, i.LastError, i.LastErrorTime = true, reflector.ErrUnreadable, ago(time.Minute)
		}, Warning, CauseDegraded, time.Minute, reflector.ErrUnreadable.Error(), "lists again"},
		{"restored", func(i *Informer) {
			i.Degraded, i.LastError, i.LastErrorTime = true, reflector.ErrOutOfOrder, ago(time.Minute)
		}, Warning, CauseRestored, time.Minute, "numbers anew", ""},
		{"restored, and over", func(i *Informer) {
			i.Recent = reflector.RecentErrors{Last: reflector.ErrRestored, LastTime: ago(time.Minute), Count: 4}
		}, Note, CauseRestored, time.Minute, "earlier version", "after the backup"},
		{"quarantine", func(i *Informer) {
			i.Quarantined, i.QuarantinedSince, i.FailuresByStage = 2, ago(time.Hour), StageCounts{StageDecode: 5}
		}, Warning, CauseQuarantine, time.Hour, "2 objects could not be stored (decode): ", "the type"},
		{"quarantine, after failures at several stages", func(i *Informer) {
			i.Quarantined, i.QuarantinedSince, i.FailuresByStage = 1, ago(time.Hour), StageCounts{StageDecode: 1, StageTransform: 4}
		}, Warning, CauseQuarantine, time.Hour, "1 object could not be stored: ", "Quarantine"},
		{"differences", func(i *Informer) { i.Consistency.Differences, i.Consistency.LastDifference = 1, ago(time.Minute) }, Warning, CauseInconsistent, time.Minute, "1 difference ", "bug"},
		{"differences of yesterday", func(i *Informer) { i.Consistency.Differences, i.Consistency.LastDifference = 3, ago(24*time.Hour) }, Note, CauseInconsistent, 24 * time.Hour, "3 differences", ""},
		{"no check", func(i *Informer) {
			c := &i.Consistency
			c.Checks, c.NotChecked, c.Last, c.LastNotChecked = 2, 2, ago(time.Minute), errors.New("no exact list")
		}, Note, CauseNotChecked, time.Minute, "no exact list", ""},
		{"no room", func(i *Informer) {
			i.Budget = Budget{Bytes: 2 << 20, Used: 2 << 20, Short: 2, Since: now.Add(-time.Minute)}
		}, Warning, CauseBudget, time.Minute, "of 2 objects only metadata is held: whole objects take 2.0 MiB of the budget of 2.0 MiB", "raise the Budget"},
		{"mutations", func(i *Informer) { i.Mutations = 2 }, Warning, CauseMutated, -1, "wrote into 2 stored objects", "copy"},
		{"own writes", func(i *Informer) { i.OwnWrites.Entries, i.OwnWrites.Oldest = 3, ago(time.Minute) }, Warning, CauseUnconfirmedWrites, time.Minute, "3 writes", "selectors"},
		{"lost own writes", func(i *Informer) { i.OwnWrites.Expired = 1 }, Note, CauseUnconfirmedWrites, -1, "never confirmed", "UnconfirmedWriteError"},
		{"off the wire", func(i *Informer) {
			i.ReadPath = source.ReadPath{Path: source.PathClient, Why: errors.New("the client has a cache"), Since: ago(time.Hour)}
		}, Note, CauseReadPath, time.Hour, "by the client's decoder, not by kinglet's own decoder: the client has a cache", "CPU"},
		{"a handler that stands still", func(i *Informer) {
			i.Handlers[0].CallSince, i.Handlers[0].Pending = ago(14*time.Second), 7
			i.Handlers[0].CallKey, i.Handlers[0].OldestPending = store.Key{Name: "private"}, ago(13*time.Second)
		}, Warning, CauseHandlerStalled, 14 * time.Second, "handler queue has been in one call for 14s; 7 changes wait", "stack"},
		{"a handler that is slow", func(i *Informer) {
			i.Handlers[0].CallSince, i.Handlers[0].Pending, i.Handlers[0].OldestPending = ago(time.Second), 1, ago(9*time.Second)
		}, Warning, CauseHandlerBehind, 9 * time.Second, "handler queue is behind: 1 change waits, the oldest for 9.0s", "faster"},
		{"a handler that panics", func(i *Informer) { i.Handlers[0].Panics = 1 }, Warning, CauseHandlerPanics, -1, "handler queue panicked once", "stack"},
		{"a handler that panicked a minute ago", func(i *Informer) { i.Handlers[0].Panics, i.Handlers[0].LastPanic = 2, ago(time.Minute) }, Warning, CauseHandlerPanics, time.Minute, "panicked 2 times", "stack"},
		{"a handler that panicked yesterday", func(i *Informer) { i.Handlers[0].Panics, i.Handlers[0].LastPanic = 2, ago(24*time.Hour) }, Note, CauseHandlerPanics, 24 * time.Hour, "panicked 2 times", "stack"},
		{"a handler that has ended", func(i *Informer) { i.Handlers[0].Err = errors.New("too many changes wait") }, Warning, CauseHandlerEnded, -1, "has ended: too many changes wait", "again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := well()
			c.state(i)
			got := i.Problems(now)
			if len(got) != 1 {
				t.Fatalf("%d problems: %+v", len(got), got)
			}
			p := got[0]
			since := ago(c.since)
			if c.since < 0 {
				since = time.Time{}
			}
			if p.Severity != c.severity || p.Cause != c.cause || !p.Since.Equal(since) ||
				!strings.Contains(p.What, c.what) || !strings.Contains(p.Do, c.do) || p.Do == "" {
				t.Errorf("\n got %+v\nwant %v %s since %v, %q, %q", p, c.severity, c.cause, since, c.what, c.do)
			}
			if over := strings.Contains(p.What, "is over: ") && p.Severity == Note || c.cause == CauseHandlerPanics && c.since >= 0; p.Over != over {
				t.Errorf("over is %v", p.Over)
			}
			for _, text := range []string{p.What, p.Do} {
				if strings.Contains(text, "private") || strings.Contains(text, "\n") {
					t.Errorf("says %q", text)
				}
			}
		})
	}
}

func TestAnInformerThatIsWellHasNoProblem(t *testing.T) {
	for name, state := range map[string]func(*Informer){
		"all is well":                      func(*Informer) {},
		"a bookmark is due":                func(i *Informer) { i.LastContact = ago(63 * time.Second) },
		"no bookmarks, and quiet for long": func(i *Informer) { i.BookmarkInterval, i.LastContact = 0, ago(24*time.Hour) },
		"a call that goes on":              func(i *Informer) { i.Handlers[0].CallSince = ago(2 * time.Second) },
		"an error of an hour ago": func(i *Informer) {
			i.Recent = reflector.RecentErrors{Last: errForbidden, LastTime: ago(time.Hour)}
		},
		"a read path that the program chose": func(i *Informer) { i.ReadPath.Why = source.ErrSharingDisabled },
		"own writes of just now":             func(i *Informer) { i.OwnWrites.Entries, i.OwnWrites.Oldest = 3, ago(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			i := well()
			state(i)
			if got := i.Problems(now); len(got) != 0 {
				t.Errorf("%+v", got)
			}
			if n := testkit.Allocs(10, func() { i.Problems(now) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
			if since, stale := i.StaleSince(now); stale && name != "a bookmark is due" {
				t.Errorf("stale since %v", since)
			}
		})
	}
}

func TestTheWorstProblemComesFirst(t *testing.T) {
	i := well()
	fails(errForbidden, time.Minute)(i)
	i.Quarantined, i.OwnWrites.Expired, i.Handlers[0].Panics = 1, 1, 1
	got := i.Problems(now)
	var causes []Cause
	for k, p := range got {
		causes = append(causes, p.Cause)
		if k > 0 && p.Severity > got[k-1].Severity {
			t.Errorf("%v comes after %v", p.Severity, got[k-1].Severity)
		}
	}
	want := []Cause{CauseForbidden, CauseQuarantine, CauseHandlerPanics, CauseUnconfirmedWrites}
	if len(causes) != len(want) {
		t.Fatalf("got %v, want %v", causes, want)
	}
	for k := range want {
		if causes[k] != want[k] {
			t.Errorf("got %v, want %v", causes, want)
		}
	}
}

func TestNoTextOfADecoderIsShownOfSecrets(t *testing.T) {
	for name, state := range map[string]func(*Informer){
		"failing":  fails(errSecret, time.Minute),
		"degraded": func(i *Informer) { i.Degraded, i.LastError = true, errSecret },
		"over": func(i *Informer) {
			i.Recent = reflector.RecentErrors{Last: errSecret, LastTime: ago(time.Second), Count: 1}
		},
		"not checked": func(i *Informer) {
			i.Consistency.Checks, i.Consistency.NotChecked, i.Consistency.LastNotChecked = 1, 1, errSecret
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := well()
			state(i)
			if len(i.Problems(now)) == 0 {
				t.Error("no problem")
			}
			for _, p := range i.Problems(now) {
				if !strings.Contains(p.What, "hunter2") {
					t.Errorf("of pods it is not shown: %s", p.What)
				}
			}
			i.Secrets = true
			for _, p := range i.Problems(now) {
				if strings.Contains(p.What+p.Do, "hunter2") {
					t.Errorf("of secrets it is: %s", p.What)
				}
			}
		})
	}
}

func TestEachStateOfAControllerHasItsProblem(t *testing.T) {
	for _, c := range []struct {
		name     string
		state    func(*Controller)
		severity Severity
		cause    Cause
		what     string
	}{
		{"gate", func(c *Controller) { c.GateOpen, c.GateReason = false, "not the leader" }, Note, CauseGateClosed, "no run may begin: not the leader"},
		{"gate ended", func(c *Controller) { c.GateOpen, c.Gate, c.GateReason = false, GateEnded, "pods has stopped" }, Broken, CauseGateEnded, "no run may begin: pods has stopped"},
		{"behind", func(c *Controller) { c.Queued, c.OldestQueued = 7, ago(time.Minute) }, Warning, CauseQueueBehind, "7 keys wait for a worker, the oldest for 1m0s; 1 of 4 workers run"},
		{"behind, and nothing runs", func(c *Controller) { c.Running, c.OldestQueued = 0, ago(time.Minute) }, Broken, CauseQueueBehind, "0 of 4"},
		{"a run that takes minutes", func(c *Controller) { c.OldestRun, c.Failing = ago(9*time.Minute), 1 }, Warning, CauseFailingKeys, "1 key failed"},
		{"a run that hangs", func(c *Controller) { c.Running, c.Again, c.OldestRun = 3, 2, ago(time.Hour) }, Warning, CauseRunStalled, "the oldest of 3 runs has lasted for 1h0m; 2 running keys changed since"},
		{"failing", func(c *Controller) { c.Failing = 2 }, Warning, CauseFailingKeys, "2 keys failed"},
		{"hot", func(c *Controller) { c.Hot = []HotKey{{Key: "private", Runs: 90}} }, Warning, CauseHotKeys, "1 key runs more than ten times within a minute, the hottest 90 times"},
		{"unmapped", func(c *Controller) { c.Unmapped = 1 }, Warning, CauseUnmapped, "1 change could not"},
		{"panics", func(c *Controller) { c.Panicked, c.LastPanic = 3, ago(time.Minute) }, Warning, CauseRunPanics, "3 times"},
		{"panics of yesterday", func(c *Controller) { c.Panicked, c.LastPanic = 3, ago(24*time.Hour) }, Note, CauseRunPanics, "3 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctrl := &Controller{Name: "deployments", Workers: 4, Running: 1, GateOpen: true}
			if got := ctrl.Problems(now); len(got) != 0 {
				t.Errorf("of one that is well: %+v", got)
			}
			c.state(ctrl)
			got := ctrl.Problems(now)
			if len(got) != 1 || got[0].Severity != c.severity || got[0].Cause != c.cause || !strings.Contains(got[0].What, c.what) || strings.Contains(got[0].What, "private") || got[0].Do == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReadsAreStaleWhereTheServerMayHaveMore(t *testing.T) {
	for name, c := range map[string]struct {
		state func(*Informer)
		since time.Duration
	}{
		"failing":  {fails(errForbidden, time.Minute), time.Minute},
		"silent":   {func(i *Informer) { i.LastContact = ago(2 * time.Minute) }, 2 * time.Minute},
		"degraded": {func(i *Informer) { i.Degraded, i.LastErrorTime = true, ago(time.Second) }, time.Second},
		"stopped":  {func(i *Informer) { i.Phase = reflector.Stopped }, time.Hour},
		"a relist": {func(i *Informer) { i.Phase = reflector.Listing }, time.Hour},
	} {
		i := well()
		c.state(i)
		if since, stale := i.StaleSince(now); !stale || !since.Equal(ago(c.since)) {
			t.Errorf("%s: stale %v since %v, want %v", name, stale, since, ago(c.since))
		}
		i.Synced = false
		if _, stale := i.StaleSince(now); stale {
			t.Errorf("%s: what never was is stale", name)
		}
	}
}

func TestCausesAreAFixedSetOfNamesForMetrics(t *testing.T) {
	seen := map[Cause]bool{}
	for _, c := range Causes() {
		if seen[c] || c == "" || strings.ToLower(string(c)) != string(c) || strings.ContainsAny(string(c), " -.") {
			t.Errorf("cause %q", c)
		}
		seen[c] = true
	}
	for _, c := range []Cause{CauseForbidden, CauseUnauthorized, CauseNotFound, CauseInvalidRequest, CauseUnreachable,
		CauseCertificate, CauseCredentials, CauseThrottled, CauseServerError, CauseExpired, CauseRestored, CauseLimit,
		CauseMalformed, CauseStalled, CauseShortWatch, CauseProtocol, CauseError} {
		if !seen[c] {
			t.Errorf("%q is a constant, and no error has it", c)
		}
	}
	if len(seen) != 17+24 {
		t.Errorf("%d causes", len(seen))
	}
}

func BenchmarkProblemsOfAnInformerThatIsWell(b *testing.B) {
	i := well()
	b.ReportAllocs()
	for b.Loop() {
		i.Problems(now)
	}
}
