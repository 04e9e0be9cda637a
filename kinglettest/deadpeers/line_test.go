package deadpeers_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// line is a connection that may go dead: nothing that either side sends reaches
// the other from then on, and neither learns of it, nor that it was closed.
type line struct {
	net.Conn
	dead   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	for l.dead.Load() {
		if err != nil {
			<-l.closed
			return 0, net.ErrClosed
		}
		n, err = l.Conn.Read(p)
	}
	return n, err
}

func (l *line) Write(p []byte) (int, error) {
	if l.dead.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

// lines are all connections that were dialed.
type lines struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	mu   sync.Mutex
	all  []*line // guarded by mu
}

func (l *lines) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	made := &line{Conn: conn, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, made)
	return made, nil
}

// die makes all that were dialed so far go dead.
func (l *lines) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, made := range l.all {
		made.dead.Store(true)
	}
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, made := range l.all {
		_ = made.Close()
	}
}

// asked writes requests down as a server's Inject.
type asked struct {
	mu   sync.Mutex
	what []string // guarded by mu
}

func (a *asked) inject(r *apiserver.Request) *apiserver.Fault {
	verb := r.Verb
	if verb == "list" && r.Options.Limit == 1 && r.Options.ResourceVersion == "" {
		return nil // a probe: an engine may send one whenever it is in doubt
	}
	if r.WatchList() {
		verb = "watch-list"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = append(a.what, fmt.Sprintf("%s %q", verb, r.Options.ResourceVersion))
	return nil
}

// take returns the requests since the last time it was asked.
func (a *asked) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	what := a.what
	a.what = nil
	return what
}

// create puts a pod into storage, and returns its version.
func create(t *testing.T, storage *apiserver.Storage, name string) string {
	t.Helper()
	obj, err := storage.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Pod).ResourceVersion
}

// informed runs an informer of the pods of the server that cfg names until the
// returned function is called, which waits for its end.
func informed(t *testing.T, cfg *rest.Config, opts source.Options) (inf *kinglet.Informer[*corev1.Pod], stop func()) {
	t.Helper()
	src, err := source.FromConfig[*corev1.Pod](cfg, pods, opts)
	if err != nil {
		t.Fatal(err)
	}
	inf, err = kinglet.New(src, kinglet.Options[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	synctest.Wait()
	return inf, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
