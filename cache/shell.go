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
// handler, so what a handler gets has to be one of client-go's. It is a shell:
// it lists nothing, watches nothing and stores nothing, but its name, type
// description and last version are those of the engine that it stands for.

// errShell ends a shell's list and watch once its version is up to date.
var errShell = errors.New("this reflector only names one that runs elsewhere")

// shell is a Reflector that stands for something of kinglet's in watch error
// handlers.
type shell struct {
	mu        sync.Mutex // held while the shell is brought up to date
	reflector *Reflector
}

// newShell returns a shell of that name and type description. version is asked
// for the engine's last version; it has to be safe for concurrent use.
func newShell(name, description string, version func() string) *shell {
	return &shell{reflector: kc.NewReflectorWithOptions(shellListWatch{version}, nil, inertStore{}, ReflectorOptions{
		Name:            name,
		TypeDescription: description,
	})}
}

// current returns the shell's Reflector with its last version made true. It
// costs some microseconds, so it is for handlers of errors, not for data.
func (s *shell) current() *Reflector {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A list is the only way to give a Reflector its version. What it logs
	// would be wrong, and is thrown away.
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

// DefaultWatchErrorHandler logs err, at a level that goes by what it is: an
// expired version and the ordinary end of a watch are not worth an error line.
// It is what reflectors and informers use that were given no handler.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	kc.DefaultWatchErrorHandler(ctx, r, err)
}

// shellListWatch makes a shell's version that of its engine, and is then over.
type shellListWatch struct{ version func() string }

func (l shellListWatch) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: l.version()}}, nil
}

func (shellListWatch) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errShell }

// IsWatchListSemanticsUnSupported has client-go list where it would stream.
func (shellListWatch) IsWatchListSemanticsUnSupported() bool { return true }

// inertStore takes everything and keeps nothing.
type inertStore struct{}

func (inertStore) Add(any) error               { return nil }
func (inertStore) Update(any) error            { return nil }
func (inertStore) Delete(any) error            { return nil }
func (inertStore) Replace([]any, string) error { return nil }
func (inertStore) Resync() error               { return nil }

// describeType is the type description of an expected type: the kind of an
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

// watchError is what client-go would hand its watch error handlers for an error
// of kinglet's reflector of objects so described: what the server said, and of
// a list that it was one.
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
