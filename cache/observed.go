package cache

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/diagnostics/phaselog"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

// allRunning is process-wide, since informers of this package are made in many places of a
// program, few of which know each other.
var allRunning = kinglet.NewSet()

// Observed returns a set of all informers, controllers and reflectors of this package in
// the process, each from when its Run begins until it returns. With it a program has their
// page, metrics and health without a change where they are made. They are named by the
// type of their objects, or by their description. Those of New and NewReflector, whose
// stores are the program's, show no objects.
//
// Do not run the set; it is only for reading. It holds nothing of a stopped informer.
func Observed() *kinglet.Set { return allRunning }

// Inspect implements Observable.
func (e *informerCore) Inspect() status.Details { return e.informer.Inspect() }

// Status implements kinglet.Observable.
func (e *engine) Status() kinglet.Status {
	return kinglet.Status{Name: e.config.description, Status: e.reflector.Status()}
}

// Observable shows more about an informer than client-go's interfaces do. Every
// informer of this package, and every controller that has a store of its own,
// implements it:
//
//	if o, ok := informer.GetController().(cache.Observable); ok {
//		fmt.Println(o.Status().LastError, o.Quarantined())
//	}
//
// So does the Controller of each informer: client-go's factories return informers in
// wrappers of their own, which have no other methods than client-go's.
//
// Its methods are safe for concurrent use. Status and Quarantined cost about a
// microsecond.
type Observable interface {
	// Status returns what the informer is doing, since when, and what failed
	// last. Its ReadPath shows whether the informer reads the wire itself, and
	// why not. Resource is known for a ListWatch from a client, and for other
	// functions once a client with source.WrapTransport has sent a request of
	// theirs.
	Status() kinglet.Status
	// Quarantined lists the objects whose latest version could not be stored,
	// because they could not be decoded, keyed or transformed.
	Quarantined() []kinglet.Quarantined
	// Inspect returns what takes longer to find out: indexes, a memory estimate,
	// the last transitions, the watch.
	Inspect() status.Details
	// CheckConsistency compares the next page of the server's collection with the
	// store, logs what differs, and then lists everything again; see
	// kinglet.ConsistencyCheck. Nothing is compared unless a program calls it,
	// every ten minutes for example. The ListerWatcher's functions are called
	// beside the watch. Content is not compared if there is a transform.
	CheckConsistency(ctx context.Context) (kinglet.ConsistencyReport, error)
}

var (
	_ Observable = (*sharedInformer)(nil)
	_ Observable = (*informerController)(nil)
)

// Verbosities of log lines about phases. A failure, and the recovery from it, is logged
// at any verbosity.
const (
	phaseVerbosity = 2
	usualVerbosity = 4
)

// phaseLogger writes what a kinglet informer logs, which is only about its phases here,
// to the klog logger of the informer's context.
type phaseLogger struct{ core *informerCore }

func (phaseLogger) Enabled(context.Context, slog.Level) bool { return true }

func (l phaseLogger) Handle(_ context.Context, r slog.Record) error {
	ctx, _, _ := l.core.state()
	if ctx == nil {
		ctx = context.Background()
	}
	logger := klog.FromContext(ctx)
	switch {
	case r.Level < slog.LevelInfo:
		logger = logger.V(usualVerbosity)
	case r.Level == slog.LevelInfo && r.Message != phaselog.Well.String():
		logger = logger.V(phaseVerbosity)
	}
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, a.Key, a.Value.Any())
		return true
	})
	logger.Info(r.Message, args...)
	return nil
}

// WithAttrs and WithGroup are not called by a kinglet informer.
func (l phaseLogger) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l phaseLogger) WithGroup(string) slog.Handler      { return l }

// logPhase writes a line as phaseLogger does.
func logPhase(logger klog.Logger, description string, line phaselog.Line) {
	switch {
	case line.Usual():
		logger = logger.V(usualVerbosity)
	case line.What != phaselog.Fails && line.What != phaselog.Well:
		logger = logger.V(phaseVerbosity)
	}
	logger.Info(line.What.String(), append([]any{"informer", description}, line.Attributes()...)...)
}

// maxReports is how many errors may be queued for reporting. More of them in
// the time that it takes to report that many, a second or so, say nothing
// new: they are counted, and each object is listed as quarantined.
const maxReports = 1024

// reporter hands errors to apimachinery's error handlers, on a goroutine that
// lives as long as there is something to report. The handlers pause a
// millisecond between two errors (and for years in a synctest bubble, whose
// clock is behind that of their last error), which must not hold up a list.
type reporter struct {
	mu   sync.Mutex
	idle sync.Cond // signalled when busy becomes false
	// The fields below are guarded by mu.

	waiting []func()
	left    int // how many were dropped since the last was reported
	busy    bool
}

func newReporter() *reporter {
	r := &reporter{}
	r.idle.L = &r.mu
	return r
}

// report calls say soon, unless too many are queued already. It does not
// block.
func (r *reporter) report(say func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) >= maxReports {
		r.left++
		return
	}
	r.waiting = append(r.waiting, say)
	if !r.busy {
		r.busy = true
		go r.work()
	}
}

func (r *reporter) work() {
	for {
		say, left := r.next()
		if left > 0 {
			klog.Background().Info("Errors came faster than they could be reported", "left", left)
		}
		if say == nil {
			return
		}
		func() {
			defer utilruntime.HandleCrash()
			say()
		}()
	}
}

// next returns the next function; if there is none, it returns nil and clears
// busy.
func (r *reporter) next() (say func(), left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, r.left = r.left, 0
	if len(r.waiting) == 0 {
		r.busy, r.waiting = false, nil
		r.idle.Broadcast()
		return nil, left
	}
	say, r.waiting = r.waiting[0], r.waiting[1:]
	return say, left
}

// wait blocks until nothing is queued to be reported.
func (r *reporter) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.busy {
		r.idle.Wait()
	}
}

// pathVerbosity is the verbosity of the line about an informer that does not
// read the wire from the beginning. Programs that were written for client-go
// have many such informers, and did not ask for anything else; Observable shows
// it for each.
const pathVerbosity = 2

// logReadPath logs that objects of the type described are read another way than
// before. After the first answer, a change is logged at any verbosity.
func logReadPath(logger klog.Logger, description string, before, now kinglet.ReadPath) {
	if before.Path == source.PathUnknown {
		if !now.Lost() {
			return
		}
		logger = logger.V(pathVerbosity)
	}
	args := []any{"type", description, "before", before.Path.String(), "now", now.Path.String()}
	if now.Why != nil {
		args = append(args, "why", now.Why.Error())
	}
	logger.Info("Objects are read another way", args...)
}

// callerName returns the file and line of the closest caller outside of this
// package, which name a reflector that was given no name. Constructors call it,
// since a goroutine has no caller.
func callerName() string {
	here := reflect.TypeFor[Config]().PkgPath() + "."
	// As deep as constructors call each other here, with room to spare.
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		outside := !strings.HasPrefix(frame.Function, here) && !strings.HasPrefix(frame.Function, "runtime.")
		if frame.Function != "" && outside {
			return fmt.Sprintf("%s:%d", shortFile(frame.File), frame.Line)
		}
		if !more {
			return "????"
		}
	}
}

// shortFile is a file's path without the part that is specific to this machine.
func shortFile(file string) string {
	for _, root := range []string{"/vendor/", "/src/"} {
		if i := strings.LastIndex(file, root); i >= 0 {
			return file[i+len(root):]
		}
	}
	if i := strings.LastIndex(file, "/pkg/"); i >= 0 {
		return file[i+1:]
	}
	return file
}
