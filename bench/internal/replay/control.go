package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/process"
)

// Counts are what a server has done since its start.
type Counts struct {
	// Lists, Watches (from a version) and Initial (watches that begin with the
	// state) count requests.
	Lists, Watches, Initial int64
	// Events are those sent after the initial ones, to all watches.
	Events int64
	// CPU is what the server's process has used.
	CPU time.Duration
}

type counters struct {
	lists, watches, initial, events atomic.Int64
}

// Prepared says what the answers will take, in bytes of their bodies.
type Prepared struct {
	// Initial is the state before the first event, as a watch sends it.
	Initial int64
}

// Burst says what happened, or is about to.
type Burst struct {
	// Began is when watches could see the first of it.
	Began time.Time
	// Bytes is what a watch is sent for it.
	Bytes int64
}

// Control tells a server what is to happen. Its methods wait for the server's
// answer, and not until watches have been sent anything.
type Control struct {
	// Endpoint is the server's.
	Endpoint Endpoint
}

// Prepare encodes the rounds from 0 to last in e and forgets other encodings.
func (c *Control) Prepare(ctx context.Context, e Encoding, last int) (p Prepared, err error) {
	return p, c.post(ctx, fmt.Sprintf("prepare?encoding=%s&last=%d", e, last), &p)
}

// Reset goes back to the beginning and ends all watches.
func (c *Control) Reset(ctx context.Context) error { return c.post(ctx, "reset", nil) }

// Burst lets n events happen and sends them to the watches as fast as they
// take them, one by one or, if gather is true, 64 KiB at a time. Its Bytes are
// those in e.
func (c *Control) Burst(ctx context.Context, e Encoding, n int, gather bool) (b Burst, err error) {
	return b, c.post(ctx, fmt.Sprintf("burst?encoding=%s&events=%d&gather=%t", e, n, gather), &b)
}

// Pace lets n events happen, so many a second on average, at random times or, if spaced
// is true, at equal intervals. It returns when the last has happened, with the time of
// each.
func (c *Control) Pace(ctx context.Context, n int, perSecond float64, spaced bool) (at []time.Time, err error) {
	return at, c.post(ctx, fmt.Sprintf("pace?events=%d&rate=%g&spaced=%t", n, perSecond, spaced), &at)
}

// Bookmark lets one event happen and has all watches send a bookmark. It returns the
// bookmark's version.
func (c *Control) Bookmark(ctx context.Context) (version string, err error) {
	return version, c.post(ctx, "bookmark", &version)
}

// Relist ends all watches with 410 Expired, and answers others so until
// somebody lists. Meanwhile n events happen, of which only the list tells.
// One more event happens when a watch is live again, which is how to know that the list
// has been taken in.
func (c *Control) Relist(ctx context.Context, n int) error {
	return c.post(ctx, fmt.Sprintf("relist?events=%d", n), nil)
}

// Counts asks what the server has done.
func (c *Control) Counts(ctx context.Context) (n Counts, err error) {
	return n, c.post(ctx, "counts", &n)
}

func (c *Control) post(ctx context.Context, what string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint.Plain+"/control/"+what, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("replay: %s: %s: %s", what, resp.Status, b)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

// control adds the other side of Control.
func (s *Server) control(mux *http.ServeMux) {
	for what, do := range map[string]func(*http.Request) (any, error){
		"prepare": s.prepare, "reset": s.reset, "burst": s.burst, "pace": s.pace, "bookmark": s.bookmark, "relist": s.relist, "counts": s.counts,
	} {
		mux.HandleFunc("POST /control/"+what, func(w http.ResponseWriter, r *http.Request) {
			v, err := do(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			// A client that has gone needs no answer.
			_ = json.NewEncoder(w).Encode(v)
		})
	}
}

func (s *Server) prepare(r *http.Request) (any, error) {
	e := Encoding(r.FormValue("encoding"))
	last, err := strconv.Atoi(r.FormValue("last"))
	if err := errors.Join(e.check(), err); err != nil {
		return nil, err
	}
	if err := s.only(e).fill(last); err != nil {
		return nil, err
	}
	var p Prepared
	err = s.eachInitial(e, "", 0, func(b []byte) error { p.Initial += int64(len(b)); return nil })
	return p, err
}

func (s *Server) reset(*http.Request) (any, error) {
	s.history.reset()
	return struct{}{}, nil
}

func (s *Server) burst(r *http.Request) (any, error) {
	e := Encoding(r.FormValue("encoding"))
	n, err := strconv.Atoi(r.FormValue("events"))
	gather, gatherErr := strconv.ParseBool(r.FormValue("gather"))
	if err := errors.Join(e.check(), err, gatherErr); err != nil {
		return nil, err
	}
	var b Burst
	from := s.history.now().head
	// Counted before it begins, so as not to take time from those who send.
	err = s.eachEvent(e, "", from, from+n, func(frame []byte) error { b.Bytes += int64(len(frame)); return nil })
	if err != nil {
		return nil, err
	}
	b.Began = time.Now()
	if s.history.advance(n, gather) != from {
		return nil, errors.New("two bursts at once")
	}
	return b, nil
}

func (s *Server) pace(r *http.Request) (any, error) {
	n, err := strconv.Atoi(r.FormValue("events"))
	perSecond, rateErr := strconv.ParseFloat(r.FormValue("rate"), 64)
	spaced, spacedErr := strconv.ParseBool(r.FormValue("spaced"))
	if err := errors.Join(err, rateErr, spacedErr); err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	at := make([]time.Time, 0, n)
	next := time.Now()
	for range n {
		gap := 1.0
		if !spaced {
			gap = rnd.ExpFloat64()
		}
		next = next.Add(time.Duration(gap / perSecond * float64(time.Second)))
		select {
		case <-time.After(time.Until(next)):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		at = append(at, time.Now())
		s.history.advance(1, false)
	}
	return at, nil
}

func (s *Server) bookmark(*http.Request) (any, error) {
	return s.pods.VersionAfter(s.history.mark()), nil
}

func (s *Server) relist(r *http.Request) (any, error) {
	n, err := strconv.Atoi(r.FormValue("events"))
	if err != nil {
		return nil, err
	}
	s.history.relist(n)
	return struct{}{}, nil
}

func (s *Server) counts(*http.Request) (any, error) {
	cpu, err := process.CPU()
	return Counts{
		Lists: s.counters.lists.Load(), Watches: s.counters.watches.Load(), Initial: s.counters.initial.Load(),
		Events: s.counters.events.Load(), CPU: cpu,
	}, err
}
