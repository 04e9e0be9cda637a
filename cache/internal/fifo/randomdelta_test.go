package fifo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

func TestDeltaFIFOEqualsItsTwinUnderRandomOperations(t *testing.T) {
	for run := range 400 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			m := newDeltaModel(t, seeded(t, run))
			for range 150 {
				m.step(0)
			}
		})
	}
}

func FuzzDeltaFIFOEqualsItsTwin(f *testing.F) {
	f.Add([]byte{3, 0, 1, 0, 2, 8, 0, 5, 1, 8, 3})
	f.Add([]byte{1, 6, 3, 1, 2, 3, 8, 0, 4, 1, 8, 2, 6, 1, 1, 9, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		choose, more := fromBytes(data)
		m := newDeltaModel(t, choose)
		for more() {
			m.step(0)
		}
	})
}

// deltaModel applies the same operations to a DeltaFIFO and its twin, which
// look at the same known objects. Process functions that succeed apply the
// deltas to these, before, between or after what happens meanwhile.
type deltaModel struct {
	t           testing.TB
	choose      chooser
	queue       *fifo.DeltaFIFO[string, object]
	twin        twinDeltaFIFO
	known       *known
	replaced    string
	transforms  bool
	version     int
	lookupFails int // reported
	failsWanted int
}

func newDeltaModel(t testing.TB, choose chooser) *deltaModel {
	m := &deltaModel{t: t, choose: choose, known: newKnown(), replaced: "Replaced"}
	opts := fifo.Options[string, object]{OnError: func(err error) {
		var lookup *fifo.LookupError[string]
		if !errors.As(err, &lookup) || !errors.Is(err, errBrokenKnown) || !m.known.broken[lookup.Key] {
			t.Fatalf("reported %v", err)
		}
		m.lookupFails++
	}}
	if choose(4) != 0 {
		opts.Known = m.known
		m.twin.known = &twinKnown{broken: m.known.broken}
	}
	if choose(2) == 0 {
		opts.ReplaceAsSync, m.replaced = true, "Sync"
	}
	if choose(2) == 0 {
		opts.Transform, m.transforms = transform, true
	}
	m.queue = fifo.NewDeltaFIFO(keyOf, opts)
	return m
}

func (m *deltaModel) object() object {
	m.version++
	return object{key: keyName(m.choose(6)), version: m.version}
}

func (m *deltaModel) step(depth int) {
	m.t.Helper()
	if m.twin.known != nil {
		m.twin.known.objects = m.known.versions()
	}
	switch m.choose(16) {
	case 0:
		o := m.object()
		m.noError(m.queue.Add(o))
		m.twin.change(o.key, twinDelta{what: "Added", version: o.version})
	case 1, 2:
		o := m.object()
		m.noError(m.queue.Update(o))
		m.twin.change(o.key, twinDelta{what: "Updated", version: o.version})
	case 3, 4:
		o := m.object()
		m.expectLookup(o.key)
		m.noError(m.queue.Delete(o))
		m.twin.delete(o.key, twinDelta{what: "Deleted", version: o.version})
	case 5:
		o := m.object()
		m.expectLookup(o.key)
		o.transformed = m.count()
		m.queue.DeleteUnknown(o.key, o)
		m.twin.delete(o.key, twinDelta{"Deleted", true, o.version})
	case 6:
		key := keyName(m.choose(6))
		m.expectLookup(key)
		m.queue.DeleteKey(key)
		m.twin.delete(key, twinDelta{"Deleted", true, 0})
	case 7, 8:
		m.replace()
	case 9:
		for _, key := range m.twin.unheard() {
			m.expectLookup(key)
		}
		m.queue.Resync()
		m.twin.resync()
	case 10:
		m.addIfNotPresent()
	case 11:
		m.refused()
	case 12:
		key := keyName(m.choose(6))
		m.known.broken[key] = m.choose(3) == 0
		if m.choose(20) == 0 {
			m.queue.Close()
		}
	case 13, 14, 15:
		m.pop(depth)
	}
	m.compare()
}

// count is how often an object has been transformed once it is queued.
func (m *deltaModel) count() int {
	if m.transforms {
		return 1
	}
	return 0
}

// expectLookup counts one failed look-up if key is to be asked for and broken.
func (m *deltaModel) expectLookup(key string) {
	_, queued := m.twin.get(key)
	flying, _ := m.twin.inFlight(key)
	if m.twin.known != nil && !queued && !flying && m.known.broken[key] {
		m.failsWanted++
	}
}

func (m *deltaModel) replace() {
	var list []object
	var keys []string
	var versions []int
	for range m.choose(5) {
		o := m.object()
		list, keys, versions = append(list, o), append(keys, o.key), append(versions, o.version)
	}
	for _, key := range m.twin.unheard() {
		if !slices.Contains(keys, key) {
			m.expectLookup(key)
		}
	}
	m.noError(m.queue.Replace(list))
	m.twin.replace(m.replaced, keys, versions)
}

func (m *deltaModel) addIfNotPresent() {
	o := m.object()
	o.transformed = m.count()
	item := fifo.Item[string, object]{Key: o.key, Deltas: fifo.Deltas[object]{{Type: fifo.Added, Object: o}}}
	list := []twinDelta{{what: "Added", version: o.version}}
	if m.choose(2) == 0 {
		item.Deltas = append(item.Deltas, fifo.Delta[object]{Type: fifo.Deleted, Knowledge: fifo.KeyOnly})
		list = append(list, twinDelta{"Deleted", true, 0})
	}
	m.queue.AddIfNotPresent(item)
	m.twin.addIfNotPresent(o.key, list)
}

// refused makes the writes that change nothing.
func (m *deltaModel) refused() {
	good := object{key: keyName(0), version: 1}
	isKeyError(m.t, m.queue.Add(object{}))
	isKeyError(m.t, m.queue.Update(object{}))
	isKeyError(m.t, m.queue.Delete(object{}))
	isKeyError(m.t, m.queue.Replace([]object{good, {}}))
	if m.transforms {
		poison := object{key: keyName(1), version: -1}
		m.isTransformError(m.queue.Add(poison))
		m.isTransformError(m.queue.Update(poison))
		m.isTransformError(m.queue.Replace([]object{good, poison}))
		if _, there := m.twin.get(poison.key); there {
			m.isTransformError(m.queue.Delete(poison))
		}
	}
}

func (m *deltaModel) isTransformError(err error) {
	m.t.Helper()
	if !errors.Is(err, errPoison) {
		m.t.Fatalf("%v, want the transform's error", err)
	}
}

func (m *deltaModel) pop(depth int) {
	if !m.twin.canTake() || depth == 3 {
		return
	}
	want := m.twin.take()
	returned, back, wantErr := outcome(m.choose)
	got, err := m.queue.Pop(m.t.Context(), func(item fifo.Item[string, object], initial bool) error {
		m.process(depth, []fifo.Item[string, object]{item}, initial, want, returned == nil)
		return returned
	})
	m.twin.settle(want, back, twinMerge)
	if got.Key != want[0].key || err != wantErr {
		m.t.Fatalf("Pop returned %v, %v, want %v, %v", got, err, want[0], wantErr)
	}
}

func (m *deltaModel) process(depth int, got []fifo.Item[string, object], initial bool, want []twinEntry[[]twinDelta], apply bool) {
	same := slices.EqualFunc(got, want, func(item fifo.Item[string, object], e twinEntry[[]twinDelta]) bool {
		return item.Key == e.key && m.same(item.Deltas, e.value) && initial == e.initial
	})
	if !same {
		m.t.Fatalf("handed out %v (initial %v), the twin %v", got, initial, want)
	}
	for range m.choose(3) {
		m.step(depth + 1)
	}
	if apply {
		for _, item := range got {
			m.known.apply(item)
		}
	}
	for range m.choose(2) {
		m.step(depth + 1)
	}
}

// apply is what a consumer does with deltas.
func (k *known) apply(item fifo.Item[string, object]) {
	for _, d := range item.Deltas {
		if d.Type == fifo.Deleted {
			k.remove(item.Key)
		} else {
			k.set(d.Object)
		}
	}
}

func (m *deltaModel) same(deltas fifo.Deltas[object], want []twinDelta) bool {
	return slices.EqualFunc(deltas, want, func(d fifo.Delta[object], w twinDelta) bool {
		if d.Object.version != 0 && d.Object.transformed != m.count() {
			m.t.Fatalf("%v was transformed %d times", d.Object, d.Object.transformed)
		}
		if (d.Knowledge == fifo.KeyOnly) != (w.unknown && w.version == 0) {
			return false
		}
		return string(d.Type) == w.what && d.FinalStateUnknown() == w.unknown && d.Object.version == w.version
	})
}

func (m *deltaModel) compare() {
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
	items, deltas := m.queue.Items(), 0
	for i, e := range m.twin.waiting {
		got, ok := m.queue.GetByKey(e.key)
		if !m.same(got, e.value) || !ok || items[i].Key != e.key || !m.same(items[i].Deltas, e.value) {
			m.t.Fatalf("%s: %v among the items, GetByKey returns %v %v, the twin has %v", e.key, items[i], got, ok, e.value)
		}
		deltas += len(e.value)
	}
	if got := m.queue.DeltaCount(); got != deltas {
		m.t.Fatalf("DeltaCount %d, the twin has %d", got, deltas)
	}
	if m.lookupFails != m.failsWanted {
		m.t.Fatalf("%d failed look-ups reported, want %d", m.lookupFails, m.failsWanted)
	}
	for i := range 6 {
		_, want := m.twin.get(keyName(i))
		if _, ok := m.queue.GetByKey(keyName(i)); ok != want {
			m.t.Fatalf("GetByKey(%s) finds something: %v, the twin: %v", keyName(i), ok, want)
		}
	}
}

func (m *deltaModel) noError(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}
