package kinglet_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

type pod = *corev1.Pod

// newPod returns a pod on a node.
var newPod = testpods.New

func withUID(p pod, uid types.UID) pod { p.UID = uid; return p }

func key(name string) kinglet.Key { return kinglet.Key{Namespace: "ns", Name: name} }

func byNode(p pod) ([]string, error) { return []string{p.Spec.NodeName}, nil }

// start runs an informer that no rig has, and returns what ends it.
func start[T any](t *testing.T, inf *kinglet.Informer[T]) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		stop()
		if err := <-ended; err != nil {
			t.Error("Run returned", err)
		}
	}
}

// rig is one informer on a source in memory, inside a synctest bubble.
type rig struct {
	t        *testing.T
	src      *sourcetest.Static[pod]
	informer *kinglet.Informer[pod]
	mu       sync.Mutex
	errs     []error // guarded by mu
	stop     context.CancelFunc
	ended    chan error
}

func newRig(t *testing.T, opts kinglet.Options[pod], pods ...pod) *rig {
	t.Helper()
	src := sourcetest.NewStatic(pods...)
	r := newRigOn(t, opts, src)
	r.src = src
	return r
}

// newRigOn is newRig for another source; the rig's own is nil.
func newRigOn(t *testing.T, opts kinglet.Options[pod], src source.Source[pod]) *rig {
	t.Helper()
	r := &rig{t: t, ended: make(chan error, 1)}
	opts.OnError = r.report
	inf, err := kinglet.New(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	r.informer = inf
	return r
}

// run starts the informer and waits until all is quiet.
func (r *rig) run() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.ended <- r.informer.Run(ctx) }()
	synctest.Wait()
}

func (r *rig) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.t.Error("Run returned", err)
	}
}

func (r *rig) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *rig) errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]error(nil), r.errs...)
}

// equal fails unless the store holds exactly what the server holds.
func (r *rig) equal() {
	r.t.Helper()
	want := r.src.Objects()
	var got []pod
	for p := range r.informer.Store().All() {
		got = append(got, p)
	}
	if !reflect.DeepEqual(got, want) {
		r.t.Errorf("store has %v, server has %v", names(got), names(want))
	}
	if err := r.informer.Snapshot().Check(); err != nil {
		r.t.Error(err)
	}
}

func names(pods []pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name+"@"+p.ResourceVersion)
	}
	return out
}

// recorder is a handler that records what it receives.
type recorder struct {
	mu    sync.Mutex
	lines []string // guarded by mu
	// gate, if set, must yield a value before each call returns.
	gate chan struct{}
	// look, if set, is called with each change before it is recorded.
	look func(kinglet.Change[pod])
}

func (r *recorder) Handle(ctx context.Context, changes []kinglet.Change[pod]) {
	for _, c := range changes {
		if r.look != nil {
			r.look(c)
		}
		r.mu.Lock()
		r.lines = append(r.lines, line(c))
		r.mu.Unlock()
	}
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
		}
	}
}

func line(c kinglet.Change[pod]) string {
	obj := c.New
	if c.Type == kinglet.Deleted {
		obj = c.Old
	}
	s := fmt.Sprintf("%s %s %s on %s", c.Reason, c.Type, c.Key.Name, obj.Spec.NodeName)
	if c.FinalStateUnknown {
		s += " (final state unknown)"
	}
	return s
}

// take returns what was recorded since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

func (r *rig) add(h kinglet.Handler[pod], opts kinglet.HandlerOptions) kinglet.Registration {
	r.t.Helper()
	reg, err := r.informer.AddHandler(h, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return reg
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("was told\n%q, want\n%q", got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("was told\n%q, want\n%q", got, want)
			return
		}
	}
}
