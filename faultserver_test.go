package kinglet_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// server answers LIST and WATCH of pods over HTTP as an API server does, in
// JSON, without watch-list. Connections are pipes, so that it lives in a
// synctest bubble together with the informer.
type server struct {
	mu sync.Mutex
	// guarded by mu, all of them.
	pods    map[string]pod
	version int
	history []write
	changed chan struct{} // closed and replaced with each write
	// listFaults and watchFaults answer the next requests, one each.
	listFaults, watchFaults []http.HandlerFunc
}

// write is a watch event, and the version at which it happened.
type write struct {
	version int
	event   metav1.WatchEvent
}

func newServer(pods ...pod) *server {
	s := &server{pods: map[string]pod{}, version: 100, changed: make(chan struct{})}
	for _, p := range pods {
		s.put("ADDED", p)
	}
	return s
}

// put makes one write; an object that goes is "DELETED".
func (s *server) put(event string, p pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(s.version)
	p.UID = types.UID("uid-" + p.Name)
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if event == "DELETED" {
		delete(s.pods, p.Name)
	} else {
		s.pods[p.Name] = p
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	s.sendLocked(event, raw)
}

// send puts anything into the watches, at a version of its own, which takes
// the place of VERSION in raw.
func (s *server) send(event, raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.sendLocked(event, []byte(strings.ReplaceAll(raw, "VERSION", strconv.Itoa(s.version))))
}

func (s *server) sendLocked(event string, raw []byte) {
	e := metav1.WatchEvent{Type: event}
	e.Object.Raw = raw
	s.history = append(s.history, write{s.version, e})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) list() *corev1.PodList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for _, p := range s.pods {
		list.Items = append(list.Items, *p)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return key(a.Name).Compare(key(b.Name)) })
	return list
}

func (s *server) fault(faults *[]http.HandlerFunc) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*faults) == 0 {
		return nil
	}
	f := (*faults)[0]
	*faults = (*faults)[1:]
	return f
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "true" {
		if f := s.fault(&s.watchFaults); f != nil {
			f(w, r)
			return
		}
		s.serveWatch(w, r)
		return
	}
	if f := s.fault(&s.listFaults); f != nil {
		f(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(s.list())
}

// serveWatch sends the history after the version asked for, then what comes.
func (s *server) serveWatch(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	next := 0
	for {
		s.mu.Lock()
		events, changed := s.history[next:], s.changed
		next = len(s.history)
		s.mu.Unlock()
		for i := range events {
			if events[i].version <= from {
				continue
			}
			if json.NewEncoder(w).Encode(&events[i].event) != nil {
				return
			}
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// status answers with an error as API servers send it.
func status(code int32, reason metav1.StatusReason, message string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(int(code))
		_ = json.NewEncoder(w).Encode(&metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		})
	}
}

// pipes is a listener whose connections exist in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve runs the server and returns a client of it, and how to end both.
func serve(t *testing.T, handler http.Handler) (rest.Interface, func()) {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.dial}
	config := &rest.Config{Host: "http://server", APIPath: "/api", QPS: -1}
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(config, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		_ = srv.Close()
		transport.CloseIdleConnections()
		<-served
	}
}

// informerOf returns an informer of the server's pods that lists first.
func informerOf(t *testing.T, client rest.Interface, onError func(error)) *kinglet.Informer[pod] {
	t.Helper()
	src, err := source.FromREST[pod](client, "pods", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[pod]{DisableWatchList: true, OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	return inf
}
