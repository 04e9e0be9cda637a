package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/reflector"
)

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
// or the default one if neither is.
func (s *shell) handle(ctx context.Context, plain WatchErrorHandler, withContext WatchErrorHandlerWithContext, err error) {
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
