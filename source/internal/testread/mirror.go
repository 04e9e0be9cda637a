package testread

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Mirror is a map that follows a source of pods, and fails the test if the
// source contradicts itself.
type Mirror struct {
	Version int64
	Pods    map[store.Key]*corev1.Pod
}

// NewMirror returns an empty mirror.
func NewMirror() *Mirror { return &Mirror{Pods: map[store.Key]*corev1.Pod{}} }

// ListMirror returns a mirror of a list, read in pages of limit pods.
func ListMirror(t testing.TB, src source.Source[*corev1.Pod], limit int64) *Mirror {
	t.Helper()
	m := NewMirror()
	req := source.ListRequest[*corev1.Pod]{Limit: limit}
	for {
		got, err := List(t, src, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Pages {
			m.Page(t, p)
		}
		if req.Continue = got.Pages[0].Continue; req.Continue == "" {
			return m
		}
	}
}

// Page adds a page of the list that the mirror begins with.
func (m *Mirror) Page(t testing.TB, p source.Page[*corev1.Pod]) {
	t.Helper()
	v := parse(t, p.ResourceVersion)
	if m.Version != 0 && m.Version != v {
		t.Errorf("a page of version %d after one of %d", v, m.Version)
	}
	m.Version = v
	for _, it := range p.Items {
		if m.Pods[it.Key] != nil {
			t.Errorf("%s came twice", it.Key)
		}
		m.Pods[it.Key] = it.Object
	}
}

// Event applies an event of a watch.
func (m *Mirror) Event(t testing.TB, e source.Event[*corev1.Pod]) {
	t.Helper()
	v := parse(t, e.ResourceVersion)
	if e.Type == source.Bookmark && v < m.Version || e.Type != source.Bookmark && v <= m.Version {
		t.Errorf("%s of version %d after %d", e.Type, v, m.Version)
	}
	m.Version = v
	held, ok := m.Pods[e.Key]
	switch e.Type {
	case source.Added:
		if ok {
			t.Errorf("%s added twice", e.Key)
		}
		m.Pods[e.Key] = e.Object
	case source.Modified:
		if !ok || held.UID != e.UID {
			t.Errorf("%s modified, uid %s, held %v", e.Key, e.UID, held)
		}
		m.Pods[e.Key] = e.Object
	case source.Deleted:
		if !ok || held.UID != e.UID {
			t.Errorf("%s deleted, uid %s, held %v", e.Key, e.UID, held)
		}
		delete(m.Pods, e.Key)
	}
}

// Equals fails the test unless the mirror has exactly these pods.
func (m *Mirror) Equals(t testing.TB, pods []*corev1.Pod) {
	t.Helper()
	want := map[store.Key]*corev1.Pod{}
	for _, p := range pods {
		want[store.Key{Namespace: p.Namespace, Name: p.Name}] = p
	}
	if !reflect.DeepEqual(want, m.Pods) {
		t.Errorf("source and mirror (-source +mirror):\n%s", cmp.Diff(want, m.Pods))
	}
}

func parse(t testing.TB, version string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
