package kinglet

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/store"
)

// Options of an Informer. The zero value works for every T that is
// a Kubernetes object (implements metav1.Object).
type Options[T any] struct {
	// demand is the OnDemand of the informer; nil if it has none.
	demand *OnDemand[T]

	// Name is used in errors and status; the source's description if empty.
	Name string
	// KeyFunc reads an object's key: namespace and name if nil. It must agree with the
	// keys of the source. A panic is an error like any other.
	KeyFunc store.KeyFunc[T]
	// RememberKeys makes the store keep each key beside its object, for 36 bytes an
	// object, instead of reading it from the object again: for a slow KeyFunc, or for
	// objects that may be renamed against the rules.
	RememberKeys bool
	// UID distinguishes an object from a later one under the same key:
	// metadata.uid if nil, for objects that have it. A panic counts as none; the first
	// is reported.
	//
	// Where a Map leaves it out, a list does not show that an object was replaced by another
	// with the same content. Reads after a WroteDelete, or a delete after which OwnWrites
	// could not ask the server, take the object that was held then for the deleted one, until
	// the watch shows another: if others have deleted and created it meanwhile, they may be
	// older than the delete for as long as the watch lags.
	UID func(T) types.UID
	// Equal reports whether two reads of one version are the same, so that a relist in
	// which nothing changed changes nothing. If it is nil, they are compared by value, but
	// for what readers may write: the text of a Quantity, the size of a protobuf message,
	// locks, and, if the objects have a version, what is not exported beside exported
	// fields. Without a version, objects with a lock beside fields that are not exported
	// always differ. In a ConsistencyCheck nil slices and maps equal empty ones. It is called
	// only if UID and resource version are equal: in a relist, for objects without a version
	// that a watch sends as added again, and by a ConsistencyCheck, on its goroutine.
	Equal func(a, b T) bool
	// Indexers are the indexes to begin with; see also Informer.AddIndex.
	Indexers map[string]store.IndexFunc[T]
	// OnError is called with every error that no call returns: an *ItemError, an
	// *IndexError, the *reflector.Error of a failed request. It is called on the
	// informer's goroutines, under no lock, and should not block. If nil, errors are
	// logged to Logger as warnings, except those of requests: for these see Logger.
	OnError func(error)
	// OnReadPath is called when objects are read on another path than before, on the
	// informer's goroutine, under no lock: see Status.ReadPath. Before the first answer
	// the path is source.PathUnknown. If nil, a line is logged to Logger whenever the
	// path changes, and when the first answer shows that a source that was made to read
	// the wire does not.
	OnReadPath func(before, now ReadPath)
	// Logger is where the informer logs; if nil, slog.Default() at the time of each
	// line. There is one line for each change of phase and for each failed request, and
	// one when requests succeed again, but at most one a minute for each cause, so that
	// an informer that keeps failing logs that every minute. The keys are informer,
	// phase, cause, err, failures and since; no line contains an object's content. The
	// cause is a reflector.ListCause for a list, and a status.Cause for a failure,
	// which is a warning. Start, sync and stop are logged for debugging only. With
	// slog.DiscardHandler nothing is logged.
	Logger *slog.Logger
	// RemoveUndecodable removes an object when a later version of it cannot be
	// stored. Otherwise the last good version stays.
	RemoveUndecodable bool
	// DisableWatchList lists in pages from the start. Otherwise a watch-list
	// (KEP-3157) is tried first.
	DisableWatchList bool
	// PageSize is the limit of a list. 0 means 500, but no limit for a relist at a
	// known version, because with one, most servers bypass their cache. A server that
	// pages the first list nevertheless has no cache, and its relists are paged as
	// well. Any other value, 500 included, is the limit of every list.
	PageSize int64
	// MaxObjects is the most objects that the informer may hold, of all its sources
	// together, and MaxListBytes the most bytes that a list may take on the wire, over
	// all of its pages. If 0, they are reflector.DefaultMaxObjects (2^25) and
	// DefaultMaxListBytes (48 GiB), which only an endless list reaches. What exceeds
	// them is refused with a *LimitError and requested again with backoff; the objects
	// that are held stay as they are, and a source that has no new object goes on. To
	// protect a process's memory, set
	// them lower, and source.Options.MaxObjectBytes for the size of one object:
	// docs/security.md has the arithmetic.
	MaxObjects   int64
	MaxListBytes int64
	// MinWatchTimeout is the least time after which the server is asked to end
	// a watch; each asks for between once and twice that, so that watches of
	// many clients do not end together. 5 minutes if 0.
	MinWatchTimeout time.Duration
	// RecoverPanics reports a handler's panic to OnError, as a
	// *HandlerPanicError, and continues with the next change. Otherwise a panic
	// ends the process, naming the handler and the key.
	RecoverPanics bool
	// MutationDetection looks for writes into the informer's objects; off if
	// zero.
	MutationDetection MutationDetection
	// ConsistencyCheck compares samples of the store with the server; off if
	// zero.
	ConsistencyCheck ConsistencyCheck
	// StopGrace is how long Run waits for handlers to return before it reports
	// those that have not, each as a *StuckHandlerError; 10 s if 0. Run keeps
	// waiting for them.
	StopGrace time.Duration
}

// withDefaults returns o with every default filled in. The error names everything that
// is wrong with it.
func (o Options[T]) withDefaults() (Options[T], error) {
	var errs []error
	object := isObject[T]()
	if o.KeyFunc == nil {
		if object {
			o.KeyFunc = objectKey[T]
		} else {
			errs = append(errs, fmt.Errorf("KeyFunc is needed: %v is no metav1.Object", reflect.TypeFor[T]()))
		}
	}
	uid := o.UID
	if uid == nil {
		if object {
			o.UID = objectUID[T]
		} else {
			o.UID = func(T) types.UID { return "" }
		}
	}
	log := o.log()
	if o.OnError == nil {
		o.OnError = log.failure
	}
	if uid != nil {
		o.UID = o.guarded(uid)
	}
	if o.OnReadPath == nil {
		o.OnReadPath = log.readPath
	}
	errs = append(errs, notNegative("MinWatchTimeout", o.MinWatchTimeout), notNegative("StopGrace", o.StopGrace))
	errs = append(errs, o.reflector().Validate(), o.MutationDetection.Validate(), o.ConsistencyCheck.Validate())
	return o, errors.Join(errs...)
}

// firstPanic returns a function that reports the first panic of a function of the program,
// on a goroutine of its own, since some are called under locks.
func (o *Options[T]) firstPanic(of string) func(v any) {
	report, once := o.OnError, new(sync.Once)
	return func(v any) {
		once.Do(func() { // a stack for each event would cost more than the event
			err := fmt.Errorf("%s: %w", of, &store.PanicError{Value: v, Stack: debug.Stack()})
			go report(err)
		})
	}
}

// guarded returns UID with a panic taken for no UID.
func (o *Options[T]) guarded(uid func(T) types.UID) func(T) types.UID {
	panicked := o.firstPanic("Options.UID")
	return func(obj T) (is types.UID) {
		defer func() {
			if v := recover(); v != nil {
				panicked(v)
			}
		}()
		return uid(obj)
	}
}

// checkedEqual is Equal for consistency checks, nil if it is: a panic, which is reported,
// counts as a difference.
func (o *Options[T]) checkedEqual() func(a, b T) bool {
	if o.Equal == nil {
		return nil
	}
	return func(a, b T) (same bool) {
		defer func() {
			if v := recover(); v != nil {
				o.OnError(fmt.Errorf("Options.Equal: %w", &store.PanicError{Value: v, Stack: debug.Stack()}))
			}
		}()
		return o.Equal(a, b)
	}
}

// notNegative returns an error for an option that must not be negative, and is.
func notNegative(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s is %v, must not be negative", name, d)
	}
	return nil
}

// reflector returns the options of the reflector, which fills in its defaults.
func (o *Options[T]) reflector() reflector.Options {
	timeout := min(max(o.MinWatchTimeout, 0), math.MaxInt64/2)
	return reflector.Options{
		Name:             o.Name,
		PageSize:         o.PageSize,
		MaxObjects:       o.MaxObjects,
		MaxListBytes:     o.MaxListBytes,
		DisableWatchList: o.DisableWatchList,
		WatchTimeoutMin:  timeout,
		WatchTimeoutMax:  2 * timeout,
		OnError:          o.OnError,
		OnReadPath:       o.OnReadPath,
		OnStatus:         o.log().status(),
	}
}

// isObject reports whether T, as a type, has Kubernetes metadata.
func isObject[T any]() bool {
	return reflect.TypeFor[T]().Implements(reflect.TypeFor[metav1.Object]())
}

// objectKey returns the key of a Kubernetes object. It shares the object's strings.
func objectKey[T any](obj T) (store.Key, error) {
	m, ok := any(obj).(metav1.Object)
	if !ok {
		return store.Key{}, fmt.Errorf("%T is nil or no metav1.Object", obj)
	}
	key := store.Key{Namespace: m.GetNamespace(), Name: m.GetName()}
	if key.Name == "" {
		return key, errors.New("the object has no name")
	}
	return key, nil
}

func objectUID[T any](obj T) types.UID {
	if m, ok := any(obj).(metav1.Object); ok {
		return m.GetUID()
	}
	return ""
}

// objectVersion returns metadata.resourceVersion, or "" if there is none.
func objectVersion[T any](obj T) string {
	if m, ok := any(obj).(metav1.Object); ok {
		return m.GetResourceVersion()
	}
	return ""
}
