package fifo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

type journal = fifo.Journal[string, object]
type record = fifo.Record[string, object]

// written renders a record: "a Added1", "a Deleted?2", "ReplacedAll a1 b2 @7".
func written(r record) string {
	switch r.Type {
	case fifo.ReplacedAll:
		words := []string{"ReplacedAll"}
		for _, o := range r.List {
			words = append(words, fmt.Sprintf("%s%d", o.key, o.version))
		}
		return strings.Join(append(words, "@"+r.ResourceVersion), " ")
	case fifo.SyncAll, fifo.Bookmark:
		return strings.TrimSuffix(fmt.Sprintf("%v @%s", r.Type, r.ResourceVersion), " @")
	}
	return told(fifo.Item[string, object]{Key: r.Key, Deltas: fifo.Deltas[object]{r.Delta}})
}

// journalTwin is a Journal as a plain list of words.
type journalTwin struct {
	waiting   []twinRecord
	initial   int
	populated bool
}

type twinRecord struct {
	key     string // empty for all keys
	text    string
	gone    bool
	last    fifo.Delta[object]
	initial bool
}

func (w *journalTwin) push(key string, d fifo.Delta[object]) {
	w.waiting = append(w.waiting, twinRecord{
		key: key, text: written(record{Key: key, Delta: d}), gone: d.Type == fifo.Deleted, last: d,
	})
}

func (w *journalTwin) newest(key string) (twinRecord, bool) {
	for _, r := range slices.Backward(w.waiting) {
		if r.key == key {
			return r, true
		}
	}
	return twinRecord{}, false
}

func (w *journalTwin) firstBatch() {
	if w.populated {
		return
	}
	w.populated = true
	for i := range w.waiting {
		w.waiting[i].initial = true
	}
	w.initial = len(w.waiting)
}

func (w *journalTwin) replace(list []object, k *known) {
	listed := func(key string) bool {
		return slices.ContainsFunc(list, func(o object) bool { return o.key == key })
	}
	before := slices.Clone(w.waiting)
	was := journalTwin{waiting: before}
	for i, r := range before {
		seen := slices.ContainsFunc(before[:i], func(o twinRecord) bool { return o.key == r.key })
		if newest, _ := was.newest(r.key); !seen && !listed(r.key) && !newest.gone {
			w.push(r.key, fifo.Delta[object]{Type: fifo.Deleted, Knowledge: fifo.LastSeen, Object: newest.last.Object})
		}
	}
	for _, key := range k.ListKeys() {
		if _, queued := was.newest(key); queued || listed(key) {
			continue
		}
		d := fifo.Delta[object]{Type: fifo.Deleted, Knowledge: fifo.KeyOnly}
		if o, ok, err := k.GetByKey(key); ok && err == nil {
			d.Knowledge, d.Object = fifo.LastSeen, o
		}
		w.push(key, d)
	}
	for _, o := range list {
		w.push(o.key, fifo.Delta[object]{Type: fifo.Replaced, Object: o})
	}
	w.firstBatch()
}

func (w *journalTwin) resync(k *known) {
	was := journalTwin{waiting: slices.Clone(w.waiting)}
	for _, key := range k.ListKeys() {
		if _, queued := was.newest(key); queued {
			continue
		}
		if o, ok, err := k.GetByKey(key); ok && err == nil {
			w.push(key, fifo.Delta[object]{Type: fifo.Sync, Object: o})
		}
	}
}

// take removes up to limit records of different keys from the beginning.
func (w *journalTwin) take(limit int) []twinRecord {
	n := 1
	for ; n < len(w.waiting) && n < limit; n++ {
		next := w.waiting[n]
		if next.key == "" || w.waiting[0].key == "" || next.initial != w.waiting[0].initial ||
			slices.ContainsFunc(w.waiting[:n], func(r twinRecord) bool { return r.key == next.key }) {
			break
		}
	}
	taken := slices.Clone(w.waiting[:n])
	w.waiting = slices.Clone(w.waiting[n:])
	return taken
}

func (w *journalTwin) settle(taken []twinRecord, back bool) {
	for _, r := range taken {
		if !back {
			if r.initial {
				w.initial--
			}
			continue
		}
		i := slices.IndexFunc(w.waiting, func(o twinRecord) bool { return r.key == "" || o.key == "" || o.key == r.key })
		if i < 0 {
			i = len(w.waiting)
		}
		w.waiting = slices.Insert(w.waiting, i, r)
	}
}

func TestJournalEqualsItsTwinUnderRandomOperations(t *testing.T) {
	for run := range 300 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			choose := seeded(t, run)
			k := newKnown()
			j := fifo.NewJournal(keyOf, fifo.Options[string, object]{Known: k, Transform: transform, OnError: func(error) {}})
			m := &journalModel{t: t, choose: choose, journal: j, known: k, whole: choose(2) == 0}
			for range 200 {
				m.step()
			}
			for j.Len() > 0 {
				m.pop()
			}
		})
	}
}

// journalModel applies the same operations to a Journal and its twin.
type journalModel struct {
	t       testing.TB
	choose  chooser
	journal *journal
	known   *known
	twin    journalTwin
	version int
	whole   bool // lists are told in one record
}

func (m *journalModel) object() object {
	m.version++
	return object{key: keyName(m.choose(6)), version: m.version}
}

func (m *journalModel) step() {
	m.t.Helper()
	switch m.choose(12) {
	case 0, 1:
		m.change(fifo.Added, m.journal.Add)
	case 2, 3:
		m.change(fifo.Updated, m.journal.Update)
	case 4:
		m.change(fifo.Deleted, m.journal.Delete)
	case 5:
		m.list()
	case 6:
		if m.whole {
			m.journal.SyncAll()
			m.twin.waiting = append(m.twin.waiting, twinRecord{text: "SyncAll"})
			break
		}
		m.twin.resync(m.known)
		m.journal.Resync()
	case 7:
		m.refused()
	case 8:
		m.known.mu.Lock()
		if m.known.broken == nil {
			m.known.broken = map[string]bool{}
		}
		m.known.broken[keyName(m.choose(6))] = m.choose(3) == 0
		m.known.mu.Unlock()
	default:
		if m.journal.Len() > 0 {
			m.pop()
		}
	}
	if got, want := m.journal.HasSynced(), m.twin.populated && m.twin.initial == 0; got != want {
		m.t.Fatalf("synced %v, want %v", got, want)
	}
	if got, want := m.journal.Len(), len(m.twin.waiting); got != want {
		m.t.Fatalf("%d wait, want %d", got, want)
	}
	key := keyName(m.choose(6))
	got, ok := m.journal.Latest(key)
	if want, known := m.twin.newest(key); ok != known || ok && told(fifo.Item[string, object]{Key: key, Deltas: fifo.Deltas[object]{got}}) != want.text {
		m.t.Fatalf("latest of %s is %v, want %v", key, got, want)
	}
}

func (m *journalModel) change(t fifo.DeltaType, write func(object) error) {
	m.t.Helper()
	o := m.object()
	if err := write(o); err != nil {
		m.t.Fatal(err)
	}
	m.twin.populated = true
	m.twin.push(o.key, fifo.Delta[object]{Type: t, Object: o})
}

func (m *journalModel) list() {
	m.t.Helper()
	var list []object
	for i := range 6 {
		if m.choose(3) == 0 {
			m.version++
			list = append(list, object{key: keyName(i), version: m.version})
		}
	}
	var err error
	if m.whole {
		err = m.journal.ReplaceAll(list, fmt.Sprint(m.version))
		r := record{List: list, ResourceVersion: fmt.Sprint(m.version)}
		r.Type = fifo.ReplacedAll
		m.twin.waiting = append(m.twin.waiting, twinRecord{text: written(r)})
		m.twin.firstBatch()
		m.journal.Bookmark("x")
		m.twin.waiting = append(m.twin.waiting, twinRecord{text: "Bookmark @x"})
	} else {
		m.twin.replace(list, m.known)
		err = m.journal.Replace(list)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// refused makes writes that fail, and so change nothing.
func (m *journalModel) refused() {
	m.t.Helper()
	bad, poison := object{}, object{key: "a", version: -1}
	for _, err := range []error{
		m.journal.Add(bad), m.journal.Update(bad), m.journal.Delete(bad),
		m.journal.Replace([]object{m.object(), bad}), m.journal.ReplaceAll([]object{bad}, "1"),
	} {
		if _, ok := errors.AsType[cache.KeyError](err); !ok {
			m.t.Fatalf("without a key: %v", err)
		}
	}
	for _, err := range []error{
		m.journal.Add(poison), m.journal.Delete(poison),
		m.journal.Replace([]object{m.object(), poison}), m.journal.ReplaceAll([]object{poison}, "1"),
	} {
		if !errors.Is(err, errPoison) {
			m.t.Fatalf("poison: %v", err)
		}
	}
}

func (m *journalModel) pop() {
	m.t.Helper()
	limit := 1 + m.choose(5)
	answer := []error{nil, nil, nil, errProcess, fifo.ErrRequeue{Err: errProcess}}[m.choose(5)]
	wanted := m.twin.take(limit)
	var got []record
	var initial bool
	process := func(records []record, in bool) error {
		got, initial = records, in
		if _, back := errors.AsType[fifo.ErrRequeue](answer); answer == nil && !back {
			m.consume(records)
		}
		return answer
	}
	var err error
	if limit == 1 {
		_, err = m.journal.Pop(m.t.Context(), func(r record, in bool) error { return process([]record{r}, in) })
	} else {
		_, err = m.journal.PopBatch(m.t.Context(), limit, process)
	}
	if answer == nil && err != nil || answer != nil && !errors.Is(err, errProcess) {
		m.t.Fatalf("Pop returned %v for %v", err, answer)
	}
	if len(got) != len(wanted) || initial != wanted[0].initial {
		m.t.Fatalf("popped %d (initial %v), want %d (initial %v)", len(got), initial, len(wanted), wanted[0].initial)
	}
	for i := range got {
		if written(got[i]) != wanted[i].text {
			m.t.Fatalf("popped %s, want %s", written(got[i]), wanted[i].text)
		}
	}
	_, back := errors.AsType[fifo.ErrRequeue](answer)
	m.twin.settle(wanted, back)
}

// consume keeps the known objects as a consumer would.
func (m *journalModel) consume(records []record) {
	for _, r := range records {
		switch r.Type {
		case fifo.Deleted:
			m.known.remove(r.Key)
		case fifo.Added, fifo.Updated, fifo.Replaced, fifo.Sync:
			m.known.set(r.Object)
		}
	}
}

func TestAJournalIsPoppedInOrderByOneConsumerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
		const consumers, all = 5, 400
		var order []int // written without a lock: the race detector sees it
		done := make(chan error, consumers)
		for range consumers {
			go func() {
				for {
					_, err := j.PopBatch(t.Context(), 3, func(records []record, _ bool) error {
						for _, r := range records {
							order = append(order, r.Object.version)
						}
						return nil
					})
					if err != nil {
						done <- err
						return
					}
				}
			}()
		}
		for i := range all {
			_ = j.Add(object{key: keyName(i % 7), version: i + 1})
		}
		synctest.Wait()
		j.Close()
		for range consumers {
			if err := <-done; !errors.Is(err, fifo.ErrClosed) {
				t.Error(err)
			}
		}
		if len(order) != all || !slices.IsSorted(order) {
			t.Errorf("%d popped, in order: %v", len(order), slices.IsSorted(order))
		}
	})
}

func TestAJournalsPopEndsWithItsContextAndAfterAPanicTheNextGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := j.Pop(ctx, nil)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = j.Add(object{key: "a", version: 1})
		_ = j.Add(object{key: "b", version: 2})
		func() {
			defer func() { _ = recover() }()
			_, _ = j.Pop(t.Context(), func(record, bool) error { panic("process") })
		}()
		r, err := j.Pop(t.Context(), nil)
		if err != nil || r.Key != "b" {
			t.Errorf("popped %v, %v", r, err)
		}
	})
}

// What was popped and is not processed yet is neither queued nor known.
func TestAJournalsReplaceSeesWhatIsInFlight(t *testing.T) {
	k := newKnown()
	j := fifo.NewJournal(keyOf, fifo.Options[string, object]{Known: k})
	_ = j.Add(object{key: "a", version: 1})
	_, _ = j.Pop(t.Context(), func(r record, _ bool) error {
		_ = j.Replace(nil)
		k.set(r.Object)
		return nil
	})
	r, _ := j.Pop(t.Context(), nil)
	if got := written(r); got != "a Deleted?1" {
		t.Errorf("popped %s", got)
	}
}

func TestAnEmptiedJournalGivesItsRoomBack(t *testing.T) {
	j := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
	for i := range 100_000 {
		_ = j.Add(object{key: keyName(i), version: i + 1})
	}
	for j.Len() > 0 {
		_, _ = j.PopBatch(t.Context(), 1000, nil)
	}
	if room := j.Room(); room != 0 {
		t.Errorf("room for %d is left", room)
	}
}
