package replay

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// get answers a LIST or a WATCH. Under /protobuf those who do not accept it
// get JSON, and those who ask for metadata only get Metadata.
func (s *Server) get(w http.ResponseWriter, r *http.Request, e Encoding) {
	accept := r.Header.Get("Accept")
	switch {
	case e != Protobuf:
	case !strings.Contains(accept, runtime.ContentTypeProtobuf):
		e = JSON
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		e = Metadata
	}
	q := r.URL.Query()
	watch, _ := strconv.ParseBool(q.Get("watch"))
	var err error
	switch initial := q.Get("sendInitialEvents") == "true"; {
	case !watch:
		err = s.list(w, r, e)
	case initial:
		err = s.watchInitial(w, r, e)
	default:
		err = s.watchFrom(w, r, e)
	}
	// Nothing can be said to a client to which the answer has begun.
	if err != nil && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// list answers from the version that a continue token names, or from now. A
// list of version 0 is answered whole, as the watch cache does.
func (s *Server) list(w http.ResponseWriter, r *http.Request, e Encoding) error {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	start, end := s.pods.In(r.PathValue("namespace"))
	head := s.history.list().head
	if token := q.Get("continue"); token != "" {
		if _, err := fmt.Sscanf(token, "%d.%d", &head, &start); err != nil {
			http.Error(w, "continue: "+err.Error(), http.StatusBadRequest)
			return nil
		}
	} else if q.Get("resourceVersion") == "0" {
		limit = 0
	}
	s.counters.lists.Add(1)
	meta := metav1.ListMeta{ResourceVersion: s.pods.VersionAfter(head)}
	if limit > 0 && start+limit < end {
		meta.RemainingItemCount = new(int64(end - start - limit))
		end = start + limit
		meta.Continue = fmt.Sprintf("%d.%d", head, end)
	}
	w.Header().Set("Content-Type", e.contentType(false))
	return s.sendItems(&sender{w: w, counters: &s.counters}, e, meta, head, start, end)
}

func (s *Server) sendItems(to *sender, e Encoding, meta metav1.ListMeta, head, start, end int) error {
	shelf := s.shelf(e)
	size := 0
	for i := start; i < end && e != JSON; i++ {
		obj, err := shelf.object(i, s.pods.RoundAfter(head, i))
		if err != nil {
			return err
		}
		size += itemSize(obj)
	}
	b, err := e.listHead(meta, size)
	if err != nil {
		return err
	}
	for i := start; i < end; i++ {
		obj, err := shelf.object(i, s.pods.RoundAfter(head, i))
		if err != nil {
			return err
		}
		b = e.appendItem(b, i == start, obj)
		if err := to.write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	return to.write(append(b, e.listTail()...))
}

// watchInitial sends the state as ADDED events, a bookmark, and then what
// happens.
func (s *Server) watchInitial(w http.ResponseWriter, r *http.Request, e Encoding) error {
	m := s.history.list()
	s.counters.initial.Add(1)
	w.Header().Set("Content-Type", e.contentType(true))
	to := &sender{w: w, counters: &s.counters}
	if err := s.eachInitial(e, r.PathValue("namespace"), m.head, to.write); err != nil {
		return err
	}
	if err := to.flush(); err != nil {
		return err
	}
	return s.follow(r, e, to, m)
}

// eachInitial hands out the frames of a namespace's state after head events, and
// of the bookmark that ends them. Each is good until the next.
func (s *Server) eachInitial(e Encoding, namespace string, head int, each func([]byte) error) error {
	shelf := s.shelf(e)
	var frame []byte
	first, end := s.pods.In(namespace)
	for i := first; i < end; i++ {
		obj, err := shelf.object(i, s.pods.RoundAfter(head, i))
		if err != nil {
			return err
		}
		frame = e.appendFrame(frame[:0], "ADDED", e.item(), obj)
		if err := each(frame); err != nil {
			return err
		}
	}
	obj, err := e.bookmark(s.pods.VersionAfter(head), true)
	if err != nil {
		return err
	}
	return each(e.appendFrame(frame[:0], "BOOKMARK", e.item(), obj))
}

// watchFrom sends what happens after a version.
func (s *Server) watchFrom(w http.ResponseWriter, r *http.Request, e Encoding) error {
	m := s.history.now()
	from, err := s.pods.EventsUntil(r.URL.Query().Get("resourceVersion"))
	if err != nil || from > m.head {
		http.Error(w, "no such resource version", http.StatusBadRequest)
		return nil
	}
	s.counters.watches.Add(1)
	w.Header().Set("Content-Type", e.contentType(true))
	to := &sender{w: w, counters: &s.counters}
	if m.mustList {
		return s.sendExpired(e, to)
	}
	if err := to.flush(); err != nil {
		return err
	}
	m.head = from
	return s.follow(r, e, to, m)
}

// follow sends what happens after m until the client goes or the era ends.
func (s *Server) follow(r *http.Request, e Encoding, to *sender, m moment) error {
	s.history.live(m.era)
	sent, era, marks := m.head, m.era, m.marks
	for {
		m = s.history.now()
		if m.era != era {
			return s.sendExpired(e, to)
		}
		send := to.send
		if m.gather {
			send = to.gather
		}
		if err := s.eachEvent(e, r.PathValue("namespace"), sent, m.head, send); err != nil {
			return err
		}
		if err := to.rest(); err != nil {
			return err
		}
		sent = m.head
		if m.marks != marks {
			marks = m.marks
			obj, err := e.bookmark(s.pods.VersionAfter(sent), false)
			if err == nil {
				err = to.write(e.appendFrame(nil, "BOOKMARK", e.item(), obj))
			}
			if err == nil {
				err = to.flush()
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-m.moved:
		}
	}
}

// eachEvent hands out the frames of a namespace's events. Each is good until the
// next.
func (s *Server) eachEvent(e Encoding, namespace string, from, to int, each func([]byte) error) error {
	shelf := s.shelf(e)
	var frame []byte
	first, end := s.pods.In(namespace)
	for n := from; n < to; n++ {
		i, round := s.pods.Event(n)
		if i < first || i >= end {
			continue
		}
		obj, err := shelf.object(i, round)
		if err != nil {
			return err
		}
		frame = e.appendFrame(frame[:0], "MODIFIED", e.item(), obj)
		if err := each(frame); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) sendExpired(e Encoding, to *sender) error {
	obj, err := e.expired()
	if err != nil {
		return err
	}
	return to.send(e.appendFrame(nil, "ERROR", statusKind, obj))
}

// gathered is how much a sender gathers.
const gathered = 64 << 10

// sender writes to one client.
type sender struct {
	w        http.ResponseWriter
	counters *counters
	// waiting is what gather has gathered.
	waiting []byte
}

func (s *sender) write(b []byte) error {
	_, err := s.w.Write(b)
	return err
}

// send writes an event and flushes it. It is counted before, as gather does: a
// large one may reach the client before the write returns, which then asks.
func (s *sender) send(b []byte) error {
	s.counters.events.Add(1)
	if err := s.write(b); err != nil {
		return err
	}
	return s.flush()
}

// gather sends an event together with others, at the latest at rest.
func (s *sender) gather(b []byte) error {
	s.waiting = append(s.waiting, b...)
	s.counters.events.Add(1)
	if len(s.waiting) < gathered {
		return nil
	}
	return s.rest()
}

// rest sends what was gathered.
func (s *sender) rest() error {
	if len(s.waiting) == 0 {
		return nil
	}
	err := s.write(s.waiting)
	s.waiting = s.waiting[:0]
	if err != nil {
		return err
	}
	return s.flush()
}

func (s *sender) flush() error { return http.NewResponseController(s.w).Flush() }
