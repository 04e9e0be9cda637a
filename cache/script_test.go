package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

var errBoom = errors.New("boom")

// record is a list of words that several goroutines write.
type record struct {
	mu    sync.Mutex
	words []string // guarded by mu
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words = append(r.words, fmt.Sprintf(format, args...))
}

// heard returns what was added since it was called last.
func (r *record) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.words, ", ")
	r.words = nil
	return all
}

// script is a ListerWatcher that answers as it is told, in turn, and notes what
// it was asked. A list without an answer is empty, at version 1; a watch
// without one sends nothing.
type script struct {
	record
	mu      sync.Mutex
	lists   []func() (runtime.Object, error) // guarded by mu
	watches []func() (watch.Interface, error)
	running []*watch.FakeWatcher
}

func (s *script) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *script) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

func (s *script) IsWatchListSemanticsUnSupported() bool { return true }

func (s *script) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Limit == 1 && o.ResourceVersion == "" {
		return podList("1000000000"), nil // a probe, which is no part of the script
	}
	s.add("list %s limit %d", o.ResourceVersion, o.Limit)
	if len(s.lists) == 0 {
		return podList("1"), nil
	}
	answer := s.lists[0]
	s.lists = s.lists[1:]
	return answer()
}

func (s *script) WatchWithContext(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add("watch %s", o.ResourceVersion)
	if len(s.watches) > 0 {
		answer := s.watches[0]
		s.watches = s.watches[1:]
		return answer()
	}
	w := watch.NewFake()
	s.running = append(s.running, w)
	return w, nil
}

// watched returns the watch that was begun last without an answer.
func (s *script) watched() *watch.FakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[len(s.running)-1]
}

func lists(version string, pods ...*corev1.Pod) func() (runtime.Object, error) {
	return func() (runtime.Object, error) { return podList(version, pods...), nil }
}

func listFails(err error) func() (runtime.Object, error) {
	return func() (runtime.Object, error) { return nil, err }
}

func watchFails(err error) func() (watch.Interface, error) {
	return func() (watch.Interface, error) { return nil, err }
}

func podList(version string, pods ...*corev1.Pod) *corev1.PodList {
	l := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, p := range pods {
		l.Items = append(l.Items, *p)
	}
	return l
}

func pod(name, version string) *corev1.Pod {
	p := testpods.New(name, "")
	p.UID, p.ResourceVersion = "uid-of-any", version
	return p
}

// taker is a ReflectorStore that notes what it is told, and implements every
// interface that a reflector asks for.
type taker struct {
	record
	mu   sync.Mutex
	fail map[string]error // what the method of that name returns; guarded by mu
}

func (s *taker) tell(method string, words ...any) error {
	s.add("%s", strings.TrimSpace(method+" "+fmt.Sprintln(words...)))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fail[method]
}

func (s *taker) set(method string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = map[string]error{method: err}
}

func name(obj any) string {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return "unknown " + d.Key
	}
	p := obj.(*corev1.Pod)
	return p.Name + "@" + p.ResourceVersion
}

func (s *taker) Add(obj any) error    { return s.tell("add", name(obj)) }
func (s *taker) Update(obj any) error { return s.tell("update", name(obj)) }
func (s *taker) Delete(obj any) error { return s.tell("delete", name(obj)) }
func (s *taker) Resync() error        { return s.tell("resync") }

func (s *taker) Replace(list []any, version string) error {
	names := make([]string, len(list))
	for i, obj := range list {
		names[i] = name(obj)
	}
	slices.Sort(names)
	return s.tell("replace", names, "at", version)
}

func (s *taker) Bookmark(version string) error { return s.tell("bookmark", version) }

func (s *taker) UpdateResourceVersion(version string) { _ = s.tell("version", version) }

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n\t%s\nwant\n\t%s", what, got, want)
	}
}
