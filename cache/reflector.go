package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// NewReflector returns a Reflector that keeps store equal to what lw has, named
// after the file and line of its caller. See NewReflectorWithOptions.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is NewReflector with a name. See NewReflectorWithOptions.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewNamespaceKeyedIndexerAndReflector returns an Indexer by namespace, and a
// Reflector that keeps it equal to what lw has.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// NewReflectorWithOptions returns a Reflector that keeps store equal to what lw has,
// once it is run: package reflector documents what is guaranteed. It starts nothing.
// Objects of another type than expectedType are reported and left out; for an
// *unstructured.Unstructured its kind counts too, and nil accepts all.
//
// The Reflector is client-go's type, since its interfaces name it, with kinglet's engine
// in it. Run, RunWithContext and ListAndWatch return once everything that they started
// has ended. ListAndWatch returns the error of a failed list and of a refused watch. It
// returns nil when the store's Resync fails, and when a watch ends in a way that
// requires a new list or a wait. Each call begins with a list that is not older than
// what the store has; but if the last call had the same context and its watch failed, as
// under Run, it continues where that ended. Throttled watches, refused connections,
// initial events that end too soon, and requests that the server asks to repeat are
// retried within one call. ShouldResync may be set at any time before the first run.
// WatchListPageSize and MaxInternalErrorRetryDuration are read at the first run.
//
// Of the options, Backoff determines every wait, except that none is shorter than the
// server's Retry-After. Clock is for resyncs, for the waits between two calls of
// ListAndWatch, and for when a Backoff starts again.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	if options.Name == "" {
		options.Name = callerName()
	}
	if options.TypeDescription == "" {
		options.TypeDescription = describeType(expectedType)
	}
	r := &reflection{lw: lw, example: expectedType, store: store, options: options, logger: ptr.Deref(options.Logger, klog.Background())}
	if r.options.Clock == nil {
		r.options.Clock = clock.RealClock{}
	}
	// The engine resyncs and checks types itself, so the shell does not.
	options.ResyncPeriod, options.Logger = 0, &silent
	r.shell = kc.NewReflectorWithOptions(r, nil, inertStore{}, options)
	return r.shell
}

// Client-go's interfaces name the concrete type Reflector in the watch error
// handler, so a handler must be given one of client-go's. It is a shell: it
// lists nothing, watches nothing and stores nothing, but its name, type
// description and last resource version are those of the engine that it stands for.

// errShell ends a shell's list and watch once its version is up to date.
var errShell = errors.New("this reflector only names one that runs elsewhere")

// shell is a Reflector that stands for kinglet's engine in watch error
// handlers.
type shell struct {
	mu        sync.Mutex // held while the shell is brought up to date
	reflector *Reflector
}

// newShell returns a shell of that name and type description. version returns
// the last resource version of the engine; it must be safe for concurrent use.
func newShell(name, description string, version func() string) *shell {
	return &shell{reflector: kc.NewReflectorWithOptions(shellListWatch{version}, nil, inertStore{}, ReflectorOptions{
		Name:            name,
		TypeDescription: description,
		Logger:          &silent,
	})}
}

// silent is the logger of client-go's Reflectors. They use it for one line, that a
// watch-list is not asked for, which is not true of the engine behind them.
var silent klog.Logger

// current returns the shell's Reflector, its last resource version up to date. It
// costs some microseconds, so it is for handlers of errors, not for data.
func (s *shell) current() *Reflector {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A list is the only way to give a Reflector its version. Its log lines
	// would be wrong, and are discarded.
	ctx := klog.NewContext(context.Background(), klog.Logger{})
	_ = s.reflector.ListAndWatchWithContext(ctx)
	return s.reflector
}

// handle calls whichever of the two handlers is there with the shell and err,
// or the default one if neither is. It returns after a panic of the handler only if
// utilruntime.ReallyCrash is false.
func (s *shell) handle(ctx context.Context, plain WatchErrorHandler, withContext WatchErrorHandlerWithContext, err error) {
	defer utilruntime.HandleCrashWithContext(ctx)
	switch {
	case plain != nil:
		plain(s.current(), err)
	case withContext != nil:
		withContext(ctx, s.current(), err)
	default:
		DefaultWatchErrorHandler(ctx, s.current(), err)
	}
}

// DefaultWatchErrorHandler logs err, at a level that depends on its kind: an
// expired version and the ordinary end of a watch are not worth an error line.
// Reflectors and informers without a handler use it.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	kc.DefaultWatchErrorHandler(ctx, r, err)
}

// shellListWatch sets a shell's version to its engine's, and then ends.
type shellListWatch struct{ version func() string }

func (l shellListWatch) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: l.version()}}, nil
}

func (shellListWatch) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errShell }

// IsWatchListSemanticsUnSupported makes client-go list where it would stream.
func (shellListWatch) IsWatchListSemanticsUnSupported() bool { return true }

// inertStore accepts everything and keeps nothing.
type inertStore struct{}

func (inertStore) Add(any) error               { return nil }
func (inertStore) Update(any) error            { return nil }
func (inertStore) Delete(any) error            { return nil }
func (inertStore) Replace([]any, string) error { return nil }
func (inertStore) Resync() error               { return nil }

// describeType returns the description of an expected type: the kind of an
// unstructured object that has one, else the name of the Go type.
func describeType(example any) string {
	if example == nil {
		return "<unspecified>"
	}
	if u, ok := example.(*unstructured.Unstructured); ok {
		if gvk := u.GroupVersionKind(); !gvk.Empty() {
			return gvk.String()
		}
	}
	return reflect.TypeOf(example).String()
}

// watchError returns the error that client-go would pass to its watch error
// handlers for an error of kinglet's reflector: what the server said, and for a
// list, that it was one. description describes the objects.
func watchError(name, description string, err error) error {
	failed, ok := errors.AsType[*reflector.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(failed, reflector.ErrShortWatch):
		return &VeryShortWatchError{Name: name}
	case failed.Verb == "watch":
		return failed.Err
	}
	return fmt.Errorf("failed to list %v: %w", description, failed.Err)
}

// kept returns what to log about err, and at which verbosity, if watch error handlers do not
// get it, and "" if they do. As in client-go, they get what its ListAndWatch returns. They also
// get restored servers and limits, which client-go does not have.
func kept(err error) (message string, at int) {
	const quiet = 4
	failed, ok := errors.AsType[*reflector.Error](err)
	if !ok || beyondClientGo(err) {
		return "", 0
	}
	message = "Warning: a list or watch failed, and is repeated"
	_, fault := errors.AsType[reflector.Fault](err)
	switch {
	case errors.Is(err, reflector.ErrOutOfOrder):
		return "Resource versions are in no order, and are not relied upon", 0
	case errors.Is(err, reflector.ErrUnreadable):
		if failed.Verb == "list" { // client-go's fails
			return "", 0
		}
		return "Warning: an object cannot be read, and is left out", 0
	case fault, isIntercepted(err): // client-go would notice nothing, or log it
		return message, 0
	}
	switch failed.Verb {
	case "list": // at a version that has expired, another follows at once
		if isExpired(err) && (failed.ResourceVersion != "" || failed.Continued) {
			return message, quiet
		}
	case "watch":
		switch {
		case throttledOrRefused(err), failed.Answered && isExpired(err):
			return message, quiet
		case failed.Answered, emptyWatch(err):
			return message, 0
		}
	default: // a list follows a watch-list; client-go has no probes
		return message, quiet
	}
	return "", 0
}

// beyondClientGo reports whether err is of something that client-go does not have, and that
// programs must know of.
func beyondClientGo(err error) bool {
	_, limit := errors.AsType[*reflector.LimitError](err)
	_, large := errors.AsType[*source.TooLargeError](err)
	return limit || large || errors.Is(err, reflector.ErrRestored)
}

func isIntercepted(err error) bool {
	_, ok := errors.AsType[*source.InterceptError](err)
	return ok
}

// emptyWatch reports whether err, of a watch, is one of which client-go's clients make a watch
// without events.
func emptyWatch(err error) bool {
	_, unanswered := errors.AsType[*url.Error](err)
	return unanswered && (utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// NewRetryWithDeadline returns a RetryWithDeadline that decides how long
// errors of one kind are retried: for maxRetryDuration from the first of them
// on. After that, or after minResetPeriod without one, the time starts again.
// It is client-go's; kinglet does not use it.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return kc.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}
