package own

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// modelObject is a state of one key, at one version.
type modelObject struct {
	name     string
	uid      types.UID
	version  int
	selected bool // by the label selector, if the collection has one
	marked   bool // for deletion
	ends     bool // with the next version: a server without grace marks it before it is gone
}

// model is a server, a program that writes, and a Writes whose watch a script moves.
type model struct {
	selector bool // the collection has a label selector
	slim     bool // objects have lost their UID in a transform
	blind    bool // nor does the answer to a delete have it
	deaf     bool // the server does not say what is left of what was deleted
	slow     bool // it says what was left when the answer was sent

	writes *Writes[*modelObject]
	store  *store.Store[*modelObject]
	clock  time.Time

	now     int
	uids    int
	history map[string][]*modelObject // by key; index is the version, nil where there is no object
	at      int                       // the version of the store; 0 before the first list
	in      bool                      // the scope is there
	latest  bool                      // its first list has to be of the latest version
	// told is the version of the program's last write of which the answer was recorded,
	// by key.
	told    map[string]int
	answers []*answer // those that have not arrived
	byHand  bool      // nothing is known of when a request was sent
	// before is what a read has loaded that began before the last step.
	before struct {
		over *overlay[*modelObject]
		at   string
		told map[string]int
	}

	steps []string
}

// answer is an answer to a write, on its way.
type answer struct {
	version int // of the write
	sent    time.Time
	removed bool
	obj     *modelObject // what was written or deleted
	unread  bool
	marks   bool // the object may only have been marked
}

var errModel = errors.New("stopped")

func newModel(selector, slim bool) *model {
	m := &model{selector: selector, slim: slim, history: map[string][]*modelObject{}, told: map[string]int{}, clock: time.Now()}
	m.store, _ = store.New(store.Options[*modelObject]{KeyFunc: func(o *modelObject) (store.Key, error) { return store.Key{Name: o.name}, nil }})
	m.writes = New(Options[*modelObject]{
		Store: m.store,
		Rules: Rules[*modelObject]{
			UID: func(o *modelObject) types.UID {
				if slim {
					return ""
				}
				return o.uid
			},
			Version:  func(o *modelObject) string { return strconv.Itoa(o.version) },
			Deleting: func(o *modelObject) bool { return o.marked && !o.ends },
		},
		Stopped:     errModel,
		Unconfirmed: func(u Unconfirmed, why error) error { return why },
		Report:      func(error) {},
	})
	m.tick("a", nil)
	m.tick("b", nil)
	m.enter()
	return m
}

// tick gives a key another state, at a new version.
func (m *model) tick(name string, obj *modelObject) *modelObject {
	m.now++
	for _, key := range []string{"a", "b"} {
		h := m.history[key]
		for len(h) < m.now {
			h = append(h, nil)
			if n := len(h); n > 1 {
				h[n-1] = h[n-2]
			}
		}
		h = append(h, h[len(h)-1])
		m.history[key] = h
	}
	if obj != nil {
		obj.name, obj.version = name, m.now
	}
	m.history[name][m.now] = obj
	return obj
}

func (m *model) current(name string) *modelObject { return m.history[name][m.now] }

// visible is the collection's state of a key at a version.
func (m *model) visible(name string, version int) *modelObject {
	if o := m.history[name][version]; o != nil && (o.selected || !m.selector) {
		return o
	}
	return nil
}

// put creates or updates a key, as selected or not.
func (m *model) put(name string, selected bool) *modelObject {
	was := m.current(name)
	next := &modelObject{selected: selected}
	if was != nil {
		next.uid, next.marked = was.uid, was.marked
	} else {
		m.uids++
		next.uid = types.UID(fmt.Sprint("u", m.uids))
	}
	return m.tick(name, next)
}

// passes lets some time pass.
func (m *model) passes() {
	for was := m.clock; !m.clock.After(was); m.clock = time.Now() {
	}
}

// record records an answer with the Writes.
func (m *model) record(a *answer) {
	m.passes()
	name := a.obj.name
	m.told[name] = max(m.told[name], a.version)
	if m.writes.Noticed(time.Now()) != nil {
		return
	}
	coverage := source.Covered
	if m.selector && !a.obj.selected {
		coverage = source.NotCovered
	}
	if a.removed && (!a.marks || coverage == source.Covered) {
		r := Removal{Key: store.Key{Name: name}, UID: a.obj.uid, Marked: a.marks, Sent: a.sent, Time: m.clock}
		if a.marks {
			r.Version = strconv.Itoa(a.obj.version)
		} else if m.blind {
			r.UID = "" // what reads show is meant
		} else {
			r.NeedsVersion = !m.deaf
		}
		if err := m.writes.Removed(r); errors.Is(err, ErrUnseen) {
			m.asked(&r, a.version)
			_ = m.writes.Removed(r)
		}
		return
	}
	w := Write[*modelObject]{Key: store.Key{Name: name}, UID: a.obj.uid, Version: strconv.Itoa(a.obj.version), Sent: a.sent, Time: m.clock}
	if w.Unread = a.unread; !w.Unread {
		w.Object = a.obj
	}
	_ = m.writes.Wrote(w, coverage)
}

// asked asks the server, as of a version since the delete, what is left of a removed object.
func (m *model) asked(r *Removal, version int) {
	if !m.slow {
		version = m.now
	}
	r.NeedsVersion, r.Gone, r.Version = false, true, strconv.Itoa(version)
	if o := m.history[r.Key.Name][version]; o != nil {
		r.Live, r.Version = o.uid, strconv.Itoa(o.version)
	}
}

// write is a write of the program. late keeps its answer back.
func (m *model) write(a *answer, late bool) bool {
	m.passes()
	a.version = m.now
	if !m.byHand {
		a.sent = m.clock
	}
	if m.slim {
		_ = m.writes.Noticed(m.clock)
	}
	if late {
		if len(m.answers) == 3 {
			return false
		}
		m.answers = append(m.answers, a)
	} else {
		m.record(a)
	}
	return true
}

func (m *model) enter() {
	m.in, m.at, m.latest = true, 0, m.writes.Recent()
	m.writes.Enter(store.Scope{ID: "s"}, func() bool { return !m.selector })
	m.writes.Begin()
}

// list lists at a version.
func (m *model) list(version int) {
	m.at = version
	var changes []store.Change[*modelObject]
	ops := func(yield func(store.Op[*modelObject]) bool) {
		for _, name := range []string{"a", "b"} {
			if o := m.visible(name, version); o != nil && !yield(store.Op[*modelObject]{Key: store.Key{Name: name}, Object: o}) {
				return
			}
		}
	}
	batch := store.Batch[*modelObject]{Scope: store.Scope{ID: "s"}, Reason: store.Relist, ResourceVersion: strconv.Itoa(version), Reported: true}
	_ = m.store.ReplaceSeq(batch, ops, func(c store.Change[*modelObject]) { changes = append(changes, c) })
	m.writes.Replaced("s", strconv.Itoa(version), changes, false)
}

// event delivers the next event.
func (m *model) event() bool {
	for v := m.at + 1; v <= m.now; v++ {
		for _, name := range []string{"a", "b"} {
			was, is := m.visible(name, v-1), m.visible(name, v)
			if was == is {
				continue
			}
			op := store.Op[*modelObject]{Key: store.Key{Name: name}, Object: is, ResourceVersion: strconv.Itoa(v)}
			if is == nil {
				op.Delete, op.HasObject, op.Object = true, true, was
			}
			batch := store.Batch[*modelObject]{Scope: store.Scope{ID: "s"}, Ops: []store.Op[*modelObject]{op}, Reason: store.Live, ResourceVersion: strconv.Itoa(v), Reported: true}
			changes, _ := m.store.Apply(batch, nil)
			m.at = v
			m.writes.Reached("s", strconv.Itoa(v), changes)
			return true
		}
	}
	return false
}

// bookmark moves the version on to where the next event is, or to the present.
func (m *model) bookmark() bool {
	at := m.at
	for at < m.now && m.visible("a", at+1) == m.visible("a", at) && m.visible("b", at+1) == m.visible("b", at) {
		at++
	}
	if at == m.at {
		return false
	}
	m.at = at
	_, _ = m.store.Apply(store.Batch[*modelObject]{Scope: store.Scope{ID: "s"}, ResourceVersion: strconv.Itoa(at), Reported: true}, nil)
	m.writes.Reached("s", strconv.Itoa(at), nil)
	return true
}

// ambiguous reports whether nothing would tell the object of a write under key from others:
// where no UID is known, a program has to await its answer before it writes there again.
func (m *model) ambiguous(key string) bool {
	return m.slim && (len(m.answers) == 3 || slices.ContainsFunc(m.answers, func(a *answer) bool { return a.obj.name == key }))
}

// op is one thing that happens. do returns false if it cannot happen now.
type op struct {
	name string
	do   func(m *model, key string) bool
}

func ownPut(selected, unread, late bool) func(*model, string) bool {
	return func(m *model, key string) bool {
		if m.slim && !selected || m.ambiguous(key) {
			return false // nothing tells an object that comes back from another
		}
		return m.write(&answer{obj: m.put(key, selected), unread: unread}, late)
	}
}

func ownDelete(late bool) func(*model, string) bool {
	return func(m *model, key string) bool {
		was := m.current(key)
		if was == nil || m.ambiguous(key) {
			return false
		}
		if now := m.writes.resolve(m.writes.over.Load(), store.Key{Name: key}); m.blind && (!now.shown || now.unsure || late) {
			return false // what is shown when the answer is recorded is meant
		}
		m.tick(key, nil)
		return m.write(&answer{obj: was, removed: true}, late)
	}
}

var ops = []op{
	{"own write", ownPut(true, false, false)},
	{"own write, out of the selector", ownPut(false, false, false)},
	{"own write that cannot be read", ownPut(true, true, false)},
	{"own delete", ownDelete(false)},
	{"other's write", func(m *model, key string) bool { m.put(key, true); return true }},
	{"other's write, out of the selector", func(m *model, key string) bool {
		if m.slim {
			return false
		}
		m.put(key, false)
		return m.selector
	}},
	{"other's delete", func(m *model, key string) bool {
		if m.current(key) == nil || m.slim && (m.deaf || m.blind) {
			return false // of two objects that others made only the server tells which is held
		}
		m.tick(key, nil)
		return true
	}},
	{"event", func(m *model, _ string) bool { return m.at > 0 && m.event() }},
	{"bookmark", func(m *model, _ string) bool { return m.at > 0 && m.bookmark() }},
	{"list", func(m *model, _ string) bool {
		if !m.in || m.at == m.now || m.slim && len(m.answers) > 0 {
			return false // a list does not tell whether it has the object of a delete under way
		}
		m.list(m.now)
		return true
	}},
	{"list of a server that lags", func(m *model, _ string) bool {
		// The first list may be of any version, unless it has to be the latest.
		if !m.in || m.at > 0 || m.latest || m.slim {
			return false
		}
		m.list(2 + (m.now-2)/2)
		return true
	}},
	{"scope leaves", func(m *model, _ string) bool {
		if !m.in {
			return false
		}
		m.in, m.at = false, 0
		_ = m.store.ReplaceSeq(store.Batch[*modelObject]{Scope: store.Scope{ID: "s"}, Reason: store.Relist, Reported: true}, func(func(store.Op[*modelObject]) bool) {}, nil)
		m.store.SetResourceVersion("s", "")
		m.writes.Leave("s")
		return true
	}},
	{"scope enters", func(m *model, _ string) bool {
		if m.in {
			return false
		}
		m.enter()
		return true
	}},
	{"own write, answered late", ownPut(true, false, true)},
	{"own delete, answered late", ownDelete(true)},
	{"first answer", func(m *model, _ string) bool {
		if len(m.answers) == 0 {
			return false
		}
		a := m.answers[0]
		m.answers = slices.Delete(m.answers, 0, 1)
		m.record(a)
		return true
	}},
	{"last answer", func(m *model, _ string) bool {
		n := len(m.answers)
		if n < 2 {
			return false
		}
		a := m.answers[n-1]
		m.answers = m.answers[:n-1]
		m.record(a)
		return true
	}},
	{"another object by hand", func(m *model, _ string) bool {
		b := store.Batch[*modelObject]{Scope: store.Scope{ID: "s"}, ResourceVersion: strconv.Itoa(m.now + 100)}
		b.Ops = []store.Op[*modelObject]{{Key: store.Key{Name: "c"}, Object: &modelObject{name: "c", version: m.now + 100}}}
		_, err := m.store.Apply(b, nil)
		return err == nil
	}},
	{"own delete of all", func(m *model, key string) bool {
		// The answer has the object as it was; it is gone, marked, or one after the other.
		was := m.current(key)
		if was == nil || was.marked || m.ambiguous(key) {
			return false
		}
		how := m.now % 3
		if how > 0 {
			m.tick(key, &modelObject{uid: was.uid, selected: was.selected, marked: true, ends: how == 2})
		}
		if how != 1 {
			m.tick(key, nil)
		}
		return m.write(&answer{obj: was, removed: true, marks: true}, false)
	}},
}

// check returns an error if a read shows a state that is older than the program's last
// write, without being unsure.
func (m *model) check() error {
	if !m.in || m.at == 0 {
		return nil // reads wait for the first list
	}
	view := m.writes.View()
	for _, name := range []string{"a", "b"} {
		key := store.Key{Name: name}
		m.writes.mu.Lock()
		_, unsure := m.writes.unsureLocked(key)
		m.writes.mu.Unlock()
		obj, shown := m.writes.Get(key)
		if got, ok := view.Get(key); ok != shown || got != obj {
			return fmt.Errorf("Get of %s shows %+v, and the view %+v", name, obj, got)
		}
		if unsure {
			continue
		}
		if !m.shownSince(m.told[name], name, obj, shown) {
			return fmt.Errorf("%s is %+v, and the program's last write was at version %d", name, obj, m.told[name])
		}
	}
	return m.checkOvertaken()
}

// shownSince reports whether what a read shows is the state at a version or a later one.
func (m *model) shownSince(version int, name string, obj *modelObject, shown bool) bool {
	for v := max(version, 1); v <= m.now; v++ {
		if is := m.visible(name, v); is == nil && !shown || is != nil && shown && is == obj {
			return true
		}
	}
	return false
}

// checkOvertaken is check for reads that loaded the overlay and the store's version before
// the last step, and the object after it.
func (m *model) checkOvertaken() error {
	for _, name := range []string{"a", "b"} {
		key := store.Key{Name: name}
		e := m.before.over.at(key)
		if e == nil || m.before.at == "" {
			continue
		}
		held, ok := m.store.Get(key)
		s := e.resolve(&m.writes.opts.Rules, m.before.at, held, ok)
		if told := m.before.told[name]; !s.unsure && !m.shownSince(told, name, s.obj, s.shown) {
			return fmt.Errorf("a read that the last step overtook shows %+v of %s, and the program's last write was at version %d", s.obj, name, told)
		}
	}
	return nil
}

// do does an op, and returns false if it cannot be done.
func (m *model) do(o op, key string) bool {
	m.before.over, m.before.at, m.before.told = m.writes.over.Load(), m.store.ReportedVersion("s"), maps.Clone(m.told)
	if !o.do(m, key) {
		return false
	}
	m.steps = append(m.steps, fmt.Sprintf("%s (%s; at %d of %d)", o.name, key, m.at, m.now))
	return true
}

// starts are what has happened before a history begins.
var starts = [][]string{
	{"other's write", "list"},
	{},
	{"list"},
	{"other's write", "own write", "list"},
	{"other's write", "list", "other's delete", "other's write"},
	{"own write", "list", "scope leaves"},
	{"other's write", "list", "own delete", "other's write", "own delete"},
	{"other's write", "list", "other's write", "own delete"},
}

func opNamed(name string) op {
	return ops[slices.IndexFunc(ops, func(o op) bool { return o.name == name })]
}

// begin makes a model of which a start has happened.
func begin(selector, slim bool, start []string) *model {
	m := newModel(selector, slim)
	for _, name := range start {
		m.do(opNamed(name), "a")
	}
	return m
}

// TestNoReadIsOlderThanAnOwnWriteInAnyShortHistory tries every history of one key and a
// few steps, with and without a label selector.
func TestNoReadIsOlderThanAnOwnWriteInAnyShortHistory(t *testing.T) {
	histories, failures := 0, 0
	for _, collection := range []struct{ selector, slim bool }{{}, {selector: true}, {slim: true}, {selector: true, slim: true}} {
		for i, start := range starts {
			depth := 3
			if i == 0 {
				depth = 4
			}
			path := make([]int, depth)
			for {
				m := begin(collection.selector, collection.slim, start)
				n, err := 0, error(nil)
				for n < depth && err == nil && m.do(ops[path[n]], "a") {
					err = m.check()
					n++
				}
				m.writes.End() // or its timer would keep it for minutes
				histories++
				if err != nil {
					if failures++; failures <= 5 {
						t.Errorf("%+v:\n%s\n%v", collection, strings.Join(m.steps, "\n"), err)
					}
				}
				// The next path differs in the last step that was tried.
				n = min(n, depth-1)
				for n >= 0 && path[n] == len(ops)-1 {
					n--
				}
				if n < 0 {
					break
				}
				path[n]++
				clear(path[n+1:])
			}
		}
	}
	t.Logf("%d histories, %d wrong", histories, failures)
}

// TestNoReadIsOlderThanAnOwnWriteInRandomHistories tries longer ones, of two keys, and
// that no read waits for ever.
func TestNoReadIsOlderThanAnOwnWriteInRandomHistories(t *testing.T) {
	seed := testkit.Seed(t)
	unsure, failures := 0, 0
	for trial := range uint64(6_000) {
		rnd := rand.New(rand.NewPCG(seed, trial))
		start := starts[rnd.IntN(len(starts))]
		m := begin(rnd.IntN(2) == 0, rnd.IntN(2) == 0, start)
		m.byHand, m.blind = rnd.IntN(4) == 0 && !m.slim, rnd.IntN(4) == 0 && m.slim
		m.deaf, m.slow = rnd.IntN(8) == 0, rnd.IntN(2) == 0
		if m.slim && slices.Contains(start, "other's delete") {
			m.blind, m.deaf = false, false // see there
		}
		var err error
		for range 16 {
			o := ops[rnd.IntN(len(ops))]
			m.do(o, [...]string{"a", "b"}[rnd.IntN(2)])
			if err = m.check(); err != nil {
				break
			}
		}
		if err == nil && m.in && m.at > 0 {
			for len(m.answers) > 0 {
				m.do(opNamed("first answer"), "a")
			}
			for m.event() || m.bookmark() {
			}
			err = m.check()
			for _, name := range []string{"a", "b"} {
				m.writes.mu.Lock()
				_, is := m.writes.unsureLocked(store.Key{Name: name})
				m.writes.mu.Unlock()
				switch {
				case is && !m.deaf && !m.blind:
					err = errors.Join(err, fmt.Errorf("%s is unsure although the watch has caught up", name))
				case is:
					unsure++
				}
			}
		}
		m.writes.End()
		if err != nil {
			if failures++; failures <= 5 {
				t.Errorf("seed %d, trial %d, selector %v, slim %v:\n%s\n%v", seed, trial, m.selector, m.slim, strings.Join(m.steps, "\n"), err)
			}
		}
	}
	t.Logf("%d wrong, %d unsure in the end", failures, unsure)
}
