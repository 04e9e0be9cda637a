package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func reflectorRow() row {
	return row{
		id:    "reflector",
		needs: []string{"NewReflector*", "NewNamedReflector", "NewNamespaceKeyedIndexerAndReflector", "DefaultWatchErrorHandler", "NewStore", "NewIndexer", "NewFIFO", "NewController", "NewListWatch", "NewDeltaFIFO*", "NewUndeltaStore"},
		tests: slices.Concat(
			bothWays("it replaces with what is there, then adds, updates and deletes", reflectorFollows),
			bothWays("any store will do", reflectorAnyStore),
			[]test{
				{sentence: "it stops when told to, and leaves no watch open", run: reflectorStops},
				{sentence: "ListAndWatch returns the error of a list, and none at the end", run: reflectorListAndWatch},
				{sentence: "names are given, or say where the reflector was made", run: reflectorNames},
				{sentence: "type descriptions are given, or say what is expected", run: reflectorTypes},
				{sentence: "an indexer by namespace comes with a reflector", run: reflectorNamespaceKeyed},
				{sentence: "the default error handler reports errors, and not the end of a watch", run: reflectorDefaultErrorHandler},
				{sentence: "resync is called after each period, if it should", run: reflectorResync},
				{sentence: "a failed resync is no end", run: reflectorResyncFails},
				{sentence: "bookmarks go to stores that want them, and so do versions", run: reflectorBookmarks},
				{sentence: "what is not of the expected type is left out", run: reflectorExpectedType},
			},
			reflectorProtocolTests(),
			reflectorAgainTests(),
		),
	}
}

// sink is a store that records its calls.
type sink struct {
	logbook
	resyncFails atomic.Bool
}

func (s *sink) Add(obj any) error    { s.write("add " + describe(obj)); return nil }
func (s *sink) Update(obj any) error { s.write("update " + describe(obj)); return nil }
func (s *sink) Delete(obj any) error { s.write("delete " + describe(obj)); return nil }

func (s *sink) Resync() error {
	s.write("resync")
	if s.resyncFails.Load() {
		return errBad
	}
	return nil
}

func (s *sink) Replace(list []any, version string) error {
	s.write(fmt.Sprintf("replace %v at %s", names(list), version))
	return nil
}

func (s *sink) told(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.logbook.told(t, want...)
}

func reflectorFollows(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	o.put(pod("ns", "b"))
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	equal(t, "version at first", r.LastSyncResourceVersion(), "")
	running(t, r.RunWithContext)
	s.told(t, "replace [ns/a@101 ns/b@102] at 102")
	equal(t, "version", r.LastSyncResourceVersion(), "102")
	o.put(pod("ns", "c"))
	o.put(pod("ns", "a"))
	o.remove("ns", "b")
	s.told(t, "add ns/c@103", "update ns/a@104", "delete ns/b@105")
	equal(t, "version", r.LastSyncResourceVersion(), "105")
	o.behindItsBack(func() { o.remove("ns", "a") })
	testclock.Elapse(time.Minute)
	s.told(t, "replace [ns/c@103] at 106")
	equal(t, "version", r.LastSyncResourceVersion(), "106")
}

func reflectorAnyStore(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "gone"))
	o.put(pod("ns", "a"))
	var pushed []string
	store := im.NewStore(im.MetaNamespaceKeyFunc)
	indexer := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	undelta := im.NewUndeltaStore(func(list []any) { pushed = names(list) }, im.MetaNamespaceKeyFunc)
	deltas := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	for _, s := range []kc.ReflectorStore{store, indexer, undelta, deltas} {
		running(t, im.NewReflector(o, &corev1.Pod{}, s, 0).RunWithContext)
	}
	o.put(pod("ns", "b", on("n1")))
	o.remove("ns", "gone")
	synctest.Wait()
	want := []string{"ns/a@102", "ns/b@103"}
	same(t, "store", names(store.List()), want...)
	same(t, "indexer", names(indexer.List()), want...)
	same(t, "on n1", names(value(indexer.ByIndex("node", "n1"))(t)), "ns/b@103")
	same(t, "pushed", pushed, want...)
	deltas.Close()
	var types []string
	for range 3 {
		for _, d := range popOne(t, deltas).(kc.Deltas) {
			types = append(types, fmt.Sprint(d.Type, " ", describe(d.Object)))
		}
	}
	same(t, "deltas", sorted(types), "Added ns/b@103", "Deleted ns/gone@104", "Replaced ns/a@102", "Replaced ns/gone@101")
}

func reflectorStops(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	r := im.NewReflector(o, &corev1.Pod{}, &sink{}, 0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { r.Run(stop); close(done) }()
	synctest.Wait()
	equal(t, "open watches", o.open(), 1)
	close(stop)
	equal(t, "Run returns", ended(done), true)
	equal(t, "open watches", o.open(), 0)
}

func reflectorListAndWatch(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	o.noWatchList = true
	o.failLists(errBad)
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	if err := r.ListAndWatch(t.Context().Done()); !errors.Is(err, errBad) {
		t.Errorf("ListAndWatch of a list that fails: %v", err)
	}
	s.told(t)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.ListAndWatch(stop) }()
	s.told(t, "replace [ns/a@101] at 101")
	close(stop)
	synctest.Wait()
	must(t, <-done)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- r.ListAndWatchWithContext(ctx) }()
	synctest.Wait()
	cancel()
	must(t, <-done)
}

func reflectorNames(t *testing.T, im Implementation) {
	s := im.NewStore(im.MetaNamespaceKeyFunc)
	equal(t, "name", im.NewNamedReflector("mine", newOrigin(), &corev1.Pod{}, s, 0).Name(), "mine")
	equal(t, "name", im.NewReflectorWithOptions(newOrigin(), &corev1.Pod{}, s, kc.ReflectorOptions{Name: "too"}).Name(), "too")
	name := im.NewReflector(newOrigin(), &corev1.Pod{}, s, 0).Name()
	if file, line, ok := strings.Cut(filepath.Base(name), ":"); !ok || file != "reflector.go" || line == "" {
		t.Errorf("the name of a reflector made in reflector.go is %q", name)
	}
}

func reflectorTypes(t *testing.T, im Implementation) {
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	s := im.NewStore(im.MetaNamespaceKeyFunc)
	for _, c := range []struct {
		expected any
		options  kc.ReflectorOptions
		want     string
	}{
		{&corev1.Pod{}, kc.ReflectorOptions{}, "*v1.Pod"},
		{nil, kc.ReflectorOptions{}, "<unspecified>"},
		{widget, kc.ReflectorOptions{}, "example.com/v1, Kind=Widget"},
		{&unstructured.Unstructured{}, kc.ReflectorOptions{}, "*unstructured.Unstructured"},
		{&corev1.Pod{}, kc.ReflectorOptions{TypeDescription: "my pods"}, "my pods"},
	} {
		r := im.NewReflectorWithOptions(newOrigin(), c.expected, s, c.options)
		equal(t, "type description", r.TypeDescription(), c.want)
	}
}

func reflectorNamespaceKeyed(t *testing.T, im Implementation) {
	o := newOrigin(pod("x", "a"), pod("y", "b"))
	indexer, r := im.NewNamespaceKeyedIndexerAndReflector(o, &corev1.Pod{}, 0)
	running(t, r.RunWithContext)
	same(t, "in x", names(value(indexer.Index(kc.NamespaceIndex, pod("x", "")))(t)), "x/a@101")
	same(t, "in y", names(value(indexer.ByIndex(kc.NamespaceIndex, "y"))(t)), "y/b@102")
}

func reflectorDefaultErrorHandler(t *testing.T, im Implementation) {
	r := im.NewReflector(newOrigin(), &corev1.Pod{}, &sink{}, 0)
	reports.drain()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewResourceExpired("too old"), gone()} {
		im.DefaultWatchErrorHandler(t.Context(), r, err)
		same(t, fmt.Sprint("reports of ", err), reports.drain())
	}
	im.DefaultWatchErrorHandler(t.Context(), r, errBad)
	if list := reports.drain(); len(list) != 1 || !strings.Contains(list[0], errBad.Error()) {
		t.Errorf("reports of an error: %v", list)
	}
}

func reflectorResync(t *testing.T, im Implementation) {
	s := &sink{}
	r := im.NewReflector(newOrigin(), &corev1.Pod{}, s, 10*time.Second)
	var should atomic.Bool
	var asked atomic.Int32
	should.Store(true)
	r.ShouldResync = func() bool { asked.Add(1); return should.Load() }
	running(t, r.RunWithContext)
	s.told(t, "replace [] at 100")
	testclock.Elapse(9 * time.Second)
	s.told(t)
	testclock.Elapse(2 * time.Second)
	s.told(t, "resync")
	should.Store(false)
	testclock.Elapse(20 * time.Second)
	s.told(t)
	equal(t, "questions", asked.Load(), 3)

	always := &sink{}
	running(t, im.NewReflector(newOrigin(), &corev1.Pod{}, always, 10*time.Second).RunWithContext)
	testclock.Elapse(31 * time.Second)
	always.told(t, "replace [] at 100", "resync", "resync", "resync")
	never := &sink{}
	running(t, im.NewReflector(newOrigin(), &corev1.Pod{}, never, 0).RunWithContext)
	testclock.Elapse(time.Hour)
	never.told(t, "replace [] at 100")
}

func reflectorResyncFails(t *testing.T, im Implementation) {
	s := &sink{}
	s.resyncFails.Store(true)
	o := newOrigin()
	running(t, im.NewReflector(o, &corev1.Pod{}, s, 30*time.Second).RunWithContext)
	testclock.Elapse(31 * time.Second)
	s.resyncFails.Store(false)
	o.put(pod("ns", "a"))
	testclock.Elapse(time.Minute)
	if log := strings.Join(s.take(), ", "); !strings.Contains(log, "resync") || !strings.Contains(log, "ns/a@101") {
		t.Errorf("the store was told %v", log)
	}
}

// bookmarkSink is a sink that wants bookmarks and versions.
type bookmarkSink struct{ sink }

func (s *bookmarkSink) Bookmark(version string) error {
	s.write("bookmark at " + version)
	return nil
}

// versionSink is a sink that wants versions.
type versionSink struct {
	sink
	version atomic.Value
}

func (s *versionSink) UpdateResourceVersion(version string) { s.version.Store(version) }

func reflectorBookmarks(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	s, v := &bookmarkSink{}, &versionSink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	running(t, r.RunWithContext)
	running(t, im.NewReflector(o, &corev1.Pod{}, v, 0).RunWithContext)
	s.take()
	o.bookmark()
	o.put(pod("ns", "b"))
	o.bookmark()
	s.told(t, "bookmark at 102", "add ns/b@103", "bookmark at 104")
	equal(t, "version", r.LastSyncResourceVersion(), "104")
	equal(t, "version that the store was told", v.version.Load(), any("104"))
	o.put(pod("ns", "c"))
	synctest.Wait()
	equal(t, "version that the store was told", v.version.Load(), any("105"))
}

func reflectorExpectedType(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	typed, untyped := &sink{}, &sink{}
	running(t, im.NewReflector(o, &corev1.Pod{}, typed, 0).RunWithContext)
	running(t, im.NewReflector(o, nil, untyped, 0).RunWithContext)
	typed.take()
	untyped.take()
	reports.drain()
	o.put(&corev1.Node{ObjectMeta: pod("", "n").ObjectMeta})
	o.put(pod("ns", "b"))
	synctest.Wait()
	if len(reports.drain()) == 0 {
		t.Error("nothing was reported")
	}
	typed.told(t, "add ns/b@103")
	untyped.told(t, "add n@102", "add ns/b@103")
}
