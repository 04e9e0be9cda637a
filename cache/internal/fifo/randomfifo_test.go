package fifo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

func TestFIFOEqualsItsTwinUnderRandomOperations(t *testing.T) {
	for run := range 300 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			m := newFIFOModel(t, seeded(t, run))
			for range 150 {
				m.step(0)
			}
		})
	}
}

func FuzzFIFOEqualsItsTwin(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 8, 0, 5, 1, 8, 3})
	f.Add([]byte{6, 3, 1, 2, 3, 8, 0, 4, 1, 8, 2, 6, 1, 1, 9, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		choose, more := fromBytes(data)
		m := newFIFOModel(t, choose)
		for more() {
			m.step(0)
		}
	})
}

// fifoModel applies the same operations to a FIFO and its twin.
type fifoModel struct {
	t       testing.TB
	choose  chooser
	queue   *fifo.FIFO[string, object]
	twin    twinFIFO
	version int
}

func newFIFOModel(t testing.TB, choose chooser) *fifoModel {
	return &fifoModel{t: t, choose: choose, queue: fifo.NewFIFO(keyOf)}
}

func (m *fifoModel) object() object {
	m.version++
	return object{key: keyName(m.choose(6)), version: m.version}
}

func (m *fifoModel) step(depth int) {
	m.t.Helper()
	switch m.choose(12) {
	case 0, 1, 2:
		o := m.object()
		m.noError(m.queue.Add(o))
		m.twin.add(o.key, o.version)
	case 3:
		o := m.object()
		m.noError(m.queue.AddIfNotPresent(o))
		m.twin.addIfNotPresent(o.key, o.version)
	case 4:
		o := m.object()
		m.noError(m.queue.Delete(o))
		m.twin.delete(o.key)
	case 5:
		m.replace(false)
	case 6:
		m.replace(true)
	case 7:
		m.keyErrors()
	case 8:
		if m.choose(20) == 0 {
			m.queue.Close()
		}
	case 9, 10, 11:
		m.pop(depth)
	}
	m.compare()
}

func (m *fifoModel) replace(bad bool) {
	var list []object
	var keys []string
	var versions []int
	for range m.choose(5) {
		o := m.object()
		list, keys, versions = append(list, o), append(keys, o.key), append(versions, o.version)
	}
	if bad {
		list = append(list, object{})
		m.isKeyError(m.queue.Replace(list))
		return
	}
	m.noError(m.queue.Replace(list))
	m.twin.replace(keys, versions)
}

func (m *fifoModel) keyErrors() {
	m.isKeyError(m.queue.Add(object{}))
	m.isKeyError(m.queue.AddIfNotPresent(object{}))
	m.isKeyError(m.queue.Delete(object{}))
	_, _, err := m.queue.Get(object{})
	m.isKeyError(err)
}

// outcome chooses what a process function returns, if the item comes back, and
// what Pop is to return.
func outcome(choose chooser) (returned error, back bool, want error) {
	switch choose(6) {
	case 0:
		return errProcess, false, errProcess
	case 1:
		return fifo.ErrRequeue{Err: errProcess}, true, errProcess
	case 2:
		return fifo.ErrRequeue{}, true, nil
	case 3:
		return fmt.Errorf("wrapped: %w", fifo.ErrRequeue{Err: errProcess}), true, errProcess
	}
	return nil, false, nil
}

func newer(_, newer int) int { return newer }

func (m *fifoModel) pop(depth int) {
	if !m.twin.canTake() {
		m.nothingToPop()
		return
	}
	if depth == 3 {
		return
	}
	want := m.twin.take()
	returned, back, wantErr := outcome(m.choose)
	got, err := m.queue.Pop(m.t.Context(), func(o object, initial bool) error {
		m.handedOut([]object{o}, initial, want)
		for range m.choose(3) {
			m.step(depth + 1)
		}
		return returned
	})
	m.twin.settle(want, back, newer)
	if got.version != want[0].value || err != wantErr {
		m.t.Fatalf("Pop returned %v, %v, want %v, %v", got, err, want[0], wantErr)
	}
}

func (m *fifoModel) handedOut(got []object, initial bool, want []twinEntry[int]) {
	m.t.Helper()
	same := slices.EqualFunc(got, want, func(o object, e twinEntry[int]) bool {
		return o.key == e.key && o.version == e.value && initial == e.initial
	})
	if !same {
		m.t.Fatalf("handed out %v (initial %v), the twin %v", got, initial, want)
	}
}

// nothingToPop sees that Pop would wait, or says that the queue is closed.
func (m *fifoModel) nothingToPop() {
	m.t.Helper()
	want := context.Canceled
	ctx, cancel := context.WithCancel(m.t.Context())
	if m.queue.IsClosed() && len(m.twin.waiting) == 0 {
		want = fifo.ErrClosed
		defer cancel()
	} else {
		cancel()
	}
	if _, err := m.queue.Pop(ctx, nil); !errors.Is(err, want) {
		m.t.Fatalf("Pop of a queue with nothing to take: %v, want %v", err, want)
	}
}

func (m *fifoModel) compare() {
	m.t.Helper()
	if err := m.queue.Check(); err != nil {
		m.t.Fatal(err)
	}
	if got, want := m.queue.ListKeys(), m.twin.keys(); !slices.Equal(got, want) {
		m.t.Fatalf("keys %v, the twin has %v", got, want)
	}
	if m.queue.HasSynced() != m.twin.synced() || m.queue.Len() != len(m.twin.waiting) {
		m.t.Fatalf("synced %v with %d, the twin %v with %d",
			m.queue.HasSynced(), m.queue.Len(), m.twin.synced(), len(m.twin.waiting))
	}
	list := m.queue.List()
	for i, e := range m.twin.waiting {
		o, ok, err := m.queue.Get(object{key: e.key})
		if list[i].version != e.value || o.version != e.value || !ok || err != nil {
			m.t.Fatalf("%s: %v in the list, Get says %v %v %v, the twin has %d", e.key, list[i], o, ok, err, e.value)
		}
	}
	for i := range 6 {
		_, want := m.twin.get(keyName(i))
		if _, ok := m.queue.GetByKey(keyName(i)); ok != want {
			m.t.Fatalf("GetByKey(%s) finds something: %v, the twin: %v", keyName(i), ok, want)
		}
	}
}

func (m *fifoModel) noError(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *fifoModel) isKeyError(err error) {
	m.t.Helper()
	isKeyError(m.t, err)
}

func isKeyError(t testing.TB, err error) {
	t.Helper()
	var key cache.KeyError
	if !errors.As(err, &key) || !errors.Is(err, errNoKey) || key.Obj.(object).key != "" {
		t.Fatalf("%v, want a KeyError of the object", err)
	}
}
