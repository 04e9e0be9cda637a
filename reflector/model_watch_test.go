package reflector

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source"
)

func (m *model) Watch(ctx context.Context, r source.WatchRequest[*thing], yield func([]source.Event[*thing]) error) error {
	timeout, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.SendInitialEvents && m.refuses {
		return apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	}
	if m.chance(5) {
		return m.failure()
	}
	w := &watching{m: m, yield: yield}
	from, _ := strconv.Atoi(r.ResourceVersion)
	version, compacted := m.now()
	switch {
	case r.SendInitialEvents:
		if err := w.initial(ctx, r.ResourceVersion); err != nil {
			return err
		}
	case from < compacted:
		return w.refuse(apierrors.NewResourceExpired("too old"))
	case from > version:
		return w.refuse(errTooLarge)
	default:
		w.truth = m.at(from)
	}
	return w.follow(ctx, timeout)
}

// watching is one watch.
type watching struct {
	m     *model
	yield func([]source.Event[*thing]) error
	truth *truth // what was sent
}

// refuse answers, or sends, an error.
func (w *watching) refuse(err error) error {
	if w.m.intn(2) == 0 {
		return err
	}
	if err := w.yield([]source.Event[*thing]{errorEvent(err)}); err != nil {
		return err
	}
	return nil
}

func (w *watching) initial(ctx context.Context, asked string) error {
	w.m.beginList()
	version, err := w.m.serve(asked, asked != "")
	if err != nil {
		return w.refuse(err)
	}
	// It begins with an earlier state, and catches up before the bookmark.
	w.truth = w.m.at(max(100, version-w.m.intn(10)))
	var batch []source.Event[*thing]
	for _, c := range w.truth.sorted() {
		batch = append(batch, w.event(source.Added, c, true))
		if w.m.chance(50) {
			batch = append(batch, w.event(source.Added, c, true))
		}
		batch = w.other(batch, c)
		if w.m.intn(4) == 0 {
			if err := w.yield(batch); err != nil {
				return err
			}
			batch = nil
		}
		if w.m.chance(150) {
			return w.m.failure()
		}
	}
	for {
		e, ok := w.advance(version, true)
		if !ok {
			break
		}
		batch = w.other(append(batch, e), change{name: e.Key.Name, version: version})
	}
	if w.m.mute {
		if len(batch) > 0 {
			if err := w.yield(batch); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	w.truth.version = version
	return w.yield(append(batch, initialEventsEnd(strconv.Itoa(version))))
}

// event is a change as an event, or what is left of it.
func (w *watching) event(t source.EventType, c change, initial bool) source.Event[*thing] {
	e := source.Event[*thing]{Type: t, Item: c.item()}
	if !w.m.chance(100) {
		return e
	}
	switch w.m.intn(3) {
	case 0:
		e.Item = spoil(e.Item, false)
		return e
	case 1:
		w.m.lose(initial)
		e.Item = spoil(e.Item, true)
		return e
	}
	w.m.lose(initial)
	return source.Event[*thing]{Type: source.Unknown, Item: source.Item[*thing]{Err: errors.New("PURGED")}}
}

// other adds, now and then, an event of an object of another kind that has the
// name of c.
func (w *watching) other(batch []source.Event[*thing], c change) []source.Event[*thing] {
	if !w.m.chance(50) {
		return batch
	}
	e := source.Event[*thing]{Type: source.EventType(1 + w.m.intn(3)), Item: c.item()}
	e.Object, e.Err = nil, &source.ItemError{Stage: source.StageDecode, Key: e.Key, Err: &source.KindError{}}
	return append(batch, e)
}

// advance sends the next change up to a version.
func (w *watching) advance(to int, initial bool) (source.Event[*thing], bool) {
	w.m.mu.Lock()
	if w.truth.next >= len(w.m.history) || w.m.history[w.truth.next].version > to {
		w.m.mu.Unlock()
		return source.Event[*thing]{}, false
	}
	c := w.m.history[w.truth.next]
	w.m.mu.Unlock()
	t := source.Added
	if before, ok := w.truth.state[c.name]; ok {
		t = source.Modified
		if c.deleted {
			t, c.body = source.Deleted, before.body
		}
	}
	w.truth.take(c)
	w.truth.next++
	w.truth.version = c.version
	return w.event(t, c, initial), true
}

func (w *watching) follow(ctx, timeout context.Context) error {
	m := w.m
	for {
		m.mu.Lock()
		version, changed := m.version, m.changed
		restored := version < w.truth.version
		m.mu.Unlock()
		if restored {
			return io.ErrUnexpectedEOF
		}
		var batch []source.Event[*thing]
		for range 1 + m.intn(5) {
			e, ok := w.advance(version, false)
			if !ok {
				break
			}
			batch = append(batch, e)
			if m.chance(20) {
				batch = append(batch, e) // no server does so, but a proxy might
			}
			batch = w.other(batch, change{name: e.Key.Name, version: version})
		}
		if len(batch) == 0 && w.truth.version < version {
			w.truth.version = version
			batch = append(batch, bookmark(strconv.Itoa(version)))
		}
		if len(batch) > 0 {
			if err := w.yield(batch); err != nil {
				return err
			}
			switch {
			case m.chance(30):
				return w.refuse(m.failure())
			case m.chance(60):
				<-ctx.Done() // a dead line
				return ctx.Err()
			}
			continue
		}
		select {
		case <-changed:
		case <-timeout.Done():
			return ctx.Err()
		case <-time.After(time.Duration(1+m.intn(120)) * time.Second):
			if m.chance(4) {
				return m.failure()
			}
		}
	}
}
