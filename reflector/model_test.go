package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// change is one step of the true history.
type change struct {
	version int
	name    string
	deleted bool
	body    int
}

// truth is the state at one version, brought forward change by change.
type truth struct {
	version int
	next    int // index of the first change that is not in state
	state   map[string]change
}

func newTruth() *truth { return &truth{state: map[string]change{}} }

// forward brings t to a version.
func (t *truth) forward(history []change, version int) {
	for t.next < len(history) && history[t.next].version <= version {
		t.take(history[t.next])
		t.next++
	}
	t.version = version
}

func (t *truth) take(c change) {
	if c.deleted {
		delete(t.state, c.name)
	} else {
		t.state[c.name] = c
	}
}

// sorted is the state in order of names.
func (t *truth) sorted() []change {
	return slices.SortedFunc(maps.Values(t.state), func(a, b change) int { return cmp.Compare(a.name, b.name) })
}

// model is a server with one true history, and, while faulty, with everything
// that servers and networks do wrong.
type model struct {
	refuses bool // to stream initial events
	mute    bool // never marks their end

	// dice are for who changes the model, so that a seed says what happens.
	dice *rand.Rand

	mu        sync.Mutex
	rand      *rand.Rand    // guarded by mu
	history   []change      // guarded by mu
	version   int           // guarded by mu
	compacted int           // guarded by mu; watches from before are gone
	faulty    bool          // guarded by mu
	changed   chan struct{} // guarded by mu; closed at the next change
	// lost is whether something was withheld from the sink that only a list
	// brings back; lostHere whether from the list under way. Guarded by mu.
	lost, lostHere bool
}

func newModel(seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 1))
	return &model{rand: r, dice: rand.New(rand.NewPCG(seed, 2)), refuses: r.IntN(4) == 0, mute: r.IntN(4) == 0, version: 100, compacted: 100,
		faulty: true, changed: make(chan struct{})}
}

func (m *model) String() string { return "the model" }

func (m *model) Traits() source.Traits { return source.Traits{} }

// chance is true once in n times, and never when there are no faults.
func (m *model) chance(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.faulty && m.rand.IntN(n) == 0
}

func (m *model) intn(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rand.IntN(n)
}

// mutate changes some objects, and then lets some time pass.
func (m *model) mutate() {
	m.mu.Lock()
	for range 1 + m.dice.IntN(4)*m.dice.IntN(2) {
		m.version += 1 + m.dice.IntN(3)
		c := change{version: m.version, name: "o" + strconv.Itoa(m.dice.IntN(25)), body: m.dice.Int()}
		_, exists := m.atLocked(m.version).state[c.name]
		c.deleted = exists && m.dice.IntN(3) == 0
		m.history = append(m.history, c)
	}
	if m.dice.IntN(20) == 0 {
		m.compacted = m.version - m.dice.IntN(30)
	}
	m.wakeLocked()
	m.mu.Unlock()
	<-time.After(time.Duration(1+m.dice.IntN(5000)) * time.Millisecond)
}

func (m *model) wakeLocked() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// restore takes the server back to an earlier version.
func (m *model) restore(version int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history = slices.DeleteFunc(m.history, func(c change) bool { return c.version > version })
	m.version, m.compacted = version, version
	m.wakeLocked()
}

func (m *model) calm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faulty = false
}

func (m *model) at(version int) *truth {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.atLocked(version)
}

func (m *model) atLocked(version int) *truth {
	t := newTruth()
	t.forward(m.history, version)
	return t
}

func (m *model) now() (version, compacted int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, m.compacted
}

// lose notes that something is withheld.
func (m *model) lose(here bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if here {
		m.lostHere = true
	} else {
		m.lost = true
	}
}

func (m *model) beginList() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lostHere = false
}

var errTooLarge = &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout,
	Reason:  metav1.StatusReasonTimeout,
	Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}}}

// failure is what goes wrong with a request.
func (m *model) failure() error {
	all := []error{
		errors.New("connection refused"), io.ErrUnexpectedEOF, io.EOF,
		apierrors.NewInternalError(errors.New("etcd")), apierrors.NewServiceUnavailable("starting"),
		apierrors.NewTooManyRequests("busy", m.intn(20)), apierrors.NewUnauthorized("expired"),
		apierrors.NewForbidden(things, "", errors.New("rbac")), apierrors.NewNotFound(things, ""),
		apierrors.NewResourceExpired("gone"), errTooLarge, apierrors.NewBadRequest("what"),
	}
	return all[m.intn(len(all))]
}

func (c change) item() source.Item[*thing] {
	i := item(c.name, strconv.Itoa(c.version))
	i.Object.body = c.body
	return i
}

// spoil makes an item one that cannot be decoded, or not even told apart.
func spoil(i source.Item[*thing], nameless bool) source.Item[*thing] {
	stage := source.StageDecode
	if nameless {
		stage, i.Key = source.StageKey, store.Key{}
	}
	i.Object, i.Err = nil, &source.ItemError{Stage: stage, Key: i.Key, Err: errors.New("spoiled")}
	return i
}

// serve picks the version that a list is served from.
func (m *model) serve(asked string, notOlder bool) (int, error) {
	version, _ := m.now()
	if asked == "" {
		return version, nil
	}
	if m.chance(2) {
		version = max(100, version-m.intn(40)) // a lagging replica
	}
	want, _ := strconv.Atoi(asked)
	if notOlder && version < want {
		if m.chance(3) {
			return version, nil // and one that does not say so
		}
		return 0, errTooLarge
	}
	return version, nil
}

func (m *model) List(ctx context.Context, r source.ListRequest[*thing], yield func(source.Page[*thing]) error) error {
	if m.chance(4) {
		if m.chance(8) {
			<-ctx.Done()
			return ctx.Err()
		}
		return m.failure()
	}
	version, offset := 0, 0
	if r.Continue == "" {
		m.beginList()
		v, err := m.serve(r.ResourceVersion, r.NotOlderThan)
		if err != nil {
			return err
		}
		version = v
	} else {
		fmt.Sscanf(r.Continue, "%d/%d", &version, &offset)
		if _, compacted := m.now(); version < compacted {
			return apierrors.NewResourceExpired("continue token expired")
		}
		if m.chance(5) {
			version, _ = m.now() // a server that mixes
		}
	}
	var items []source.Item[*thing]
	for _, c := range m.at(version).sorted() {
		items = append(items, c.item())
	}
	items = items[min(offset, len(items)):]
	last := source.Page[*thing]{ResourceVersion: strconv.Itoa(version)}
	if r.Limit > 0 && int64(len(items)) > r.Limit {
		last.Remaining = int64(len(items)) - r.Limit
		items = items[:r.Limit]
		last.Continue = fmt.Sprintf("%d/%d", version, offset+len(items))
	}
	for i := range items {
		if m.chance(100) {
			nameless := m.chance(2)
			items[i] = spoil(items[i], nameless)
			if nameless {
				m.lose(true)
			}
		}
	}
	for len(items) > 5 && m.intn(2) == 0 {
		page := source.Page[*thing]{Items: items[:5], More: true}
		if m.intn(2) == 0 {
			page.ResourceVersion = last.ResourceVersion
		}
		if err := yield(page); err != nil {
			return err
		}
		items = items[5:]
		if m.chance(20) {
			return []error{nil, io.ErrUnexpectedEOF}[m.intn(2)]
		}
	}
	last.Items = items
	return yield(last)
}
