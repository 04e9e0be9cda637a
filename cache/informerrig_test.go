package cache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kctesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testPod(name, node string) *corev1.Pod {
	p := testpods.New(name, node)
	p.UID = types.UID("uid of " + name)
	return p
}

func byNode(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }

// server is client-go's fake of one, with pods, for the rest of the test.
func server(t *testing.T, pods ...*corev1.Pod) *kctesting.FakeControllerSource {
	s := kctesting.NewFakeControllerSource()
	t.Cleanup(s.Shutdown)
	for _, p := range pods {
		s.Add(p)
	}
	return s
}

// diary is a handler that writes down what it is told.
type diary struct {
	mu    sync.Mutex
	lines []string // guarded by mu
	// during, if set, is called at the end of each call.
	during func(line string)
}

func (d *diary) write(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	d.mu.Lock()
	d.lines = append(d.lines, line)
	d.mu.Unlock()
	if d.during != nil {
		d.during(line)
	}
}

func (d *diary) OnAdd(obj any, initial bool) {
	if initial {
		d.write("first %s", shown(obj))
		return
	}
	d.write("add %s", shown(obj))
}

func (d *diary) OnUpdate(old, obj any) { d.write("update %s to %s", shown(old), shown(obj)) }

func (d *diary) OnDelete(obj any) {
	if gone, ok := obj.(DeletedFinalStateUnknown); ok {
		d.write("lost %s: %s", gone.Key, shown(gone.Obj))
		return
	}
	d.write("delete %s", shown(obj))
}

func shown(obj any) string {
	m := obj.(metav1.Object)
	if p, ok := obj.(*corev1.Pod); ok {
		return p.Name + "@" + p.Spec.NodeName
	}
	return m.GetName()
}

// expect fails unless the diary has exactly these lines since the last time.
func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("was told\n%q, want\n%q", d.lines, want)
	}
	d.lines = nil
}

// start calls run, and returns a function that ends its context and waits for its return.
func start(run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// runInformer runs an informer or controller until the returned function is
// called, which waits for its end.
func runInformer(inf interface{ RunWithContext(context.Context) }) (stop func()) {
	stop = start(inf.RunWithContext)
	synctest.Wait()
	return stop
}

// handle adds a handler.
func handle(t *testing.T, inf SharedInformer, h ResourceEventHandler) ResourceEventHandlerRegistration {
	t.Helper()
	r, err := inf.AddEventHandler(h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newScoped is NewScopedInformer of pods.
func newScoped(t *testing.T, options ScopedInformerOptions, scopes ...ScopedListerWatcher) ScopedInformer {
	t.Helper()
	inf, err := NewScopedInformer(&corev1.Pod{}, options, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}
