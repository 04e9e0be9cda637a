package faults_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"runtime/metrics"
	"strings"
	"sync"
)

// attack is what a hostile server answers to the requests for pods.
type attack struct {
	name string
	// verb that it answers so: list, watch or watch-list.
	verb string
	// protobuf or JSON, gzipped or not.
	protobuf, gzip bool
	// head is sent once, then pieces without end; a verb of fmt in it counts bytes.
	head, piece string
	// option is the one whose limit must stop it.
	option string
}

// attacker is a server that has only pods, and those are an attack.
type attacker struct {
	attack
	mu   sync.Mutex
	base uint64 // guarded by mu: what was reachable before any of it
	peak uint64 // guarded by mu: the most that was reachable while it was sent
	sent int64  // guarded by mu, before compression
}

// reachable is what the heap has after a collection: how much garbage lies
// about besides is the collector's choice, and the machine's load.
func reachable() uint64 {
	goruntime.GC()
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func (a *attacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	verb := "list"
	if q.Get("watch") != "" {
		verb = "watch"
	}
	if q.Get("sendInitialEvents") != "" {
		verb = "watch-list"
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case verb == a.verb:
		a.send(w)
	case verb == "watch-list":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case verb == "list":
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
	default:
		<-r.Context().Done()
	}
}

// send sends until the other side has had enough.
func (a *attacker) send(w http.ResponseWriter) {
	if a.protobuf {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	}
	out, flush := io.Writer(w), http.NewResponseController(w).Flush
	if a.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic(err)
		}
		out, flush = z, z.Flush
	}
	if _, err := io.WriteString(out, a.head); err != nil {
		return
	}
	chunk := strings.Repeat(a.piece, 1+(32<<10)/len(a.piece))
	for sent, next := int64(0), int64(0); ; {
		if strings.Contains(a.piece, "%") {
			chunk = fmt.Sprintf(a.piece, sent)
		}
		n, err := io.WriteString(out, chunk)
		if err != nil {
			return
		}
		if sent += int64(n); sent >= next {
			next = sent + 4<<20
			a.look(sent)
			// What is compressed says only so that nobody reads it any more.
			if flush() != nil {
				return
			}
		}
	}
}

func (a *attacker) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.base = reachable()
}

func (a *attacker) look(sent int64) {
	n := reachable()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peak, a.sent = max(a.peak, n), max(a.sent, sent)
}

// grown is by how much the heap grew at most, and how much was sent by then.
func (a *attacker) grown() (bytes, sent int64) {
	a.look(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.peak) - int64(a.base), a.sent
}
