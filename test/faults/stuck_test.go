package faults_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// polled checks that the requests of five minutes are watches that failed and a list for
// each wait.
func (r *rig) polled() {
	r.t.Helper()
	lists := 0
	for _, q := range r.took() {
		if strings.HasPrefix(q.what, "list") {
			lists++
		} else if !strings.HasPrefix(q.what, "watch ") {
			r.t.Errorf("asked for %s", q.what)
		}
	}
	// 0.8, 1.6 … 25.6 s at least come to 51 s and six waits; 30 s each after that.
	if lists < 1 || lists > 19 {
		r.t.Errorf("%d lists in five minutes", lists)
	}
}

func TestWatchesThatAreAllBrokenOffAtOnceAreFollowedByListsOnceAWait(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{CutAfter: -1}}})
		r.disconnect(func() { r.put("o0", "2") })
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=2", "o1=1", "o2=1")
		testbubble.Elapse(5 * time.Minute)
		r.took()
		r.put("o1", "2")
		testbubble.Elapse(5 * time.Minute)
		r.shows("o0=2", "o1=2", "o2=1")
		r.polled()
	})
}

func TestAnEventThatNoWatchSendsWholeComesWithAList(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{CutAfter: 1000}}})
		r.disconnect(func() {
			r.put("o0", "2")
			r.put("o1", strings.Repeat("2", 1000))
			r.put("o0", "3")
		})
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=3", "o1="+strings.Repeat("2", 1000), "o2=1")
		for n := range 10 {
			r.put("o2", fmt.Sprint(2+n))
			testbubble.Elapse(time.Minute)
		}
		r.put("o2", strings.Repeat("2", 1000))
		testbubble.Elapse(2 * time.Minute)
		r.shows("o0=3", "o1="+strings.Repeat("2", 1000), "o2="+strings.Repeat("2", 1000))
	})
}

// limitedKinglet has limits that the tests reach.
func limitedKinglet(cfg *rest.Config, report func(error)) (informer, error) {
	src, err := source.FromConfig[object](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{MaxObjectBytes: 10_000})
	if err != nil {
		return nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[object]{OnError: report, MaxObjects: 4})
	return typed{inf}, err
}

func TestObjectsThatWereTooManyForAMomentAreFoundGoneByAList(t *testing.T) {
	tooMuch(t, func(r *rig) { r.put("o3", "1"); r.put("o4", "1") }, func(r *rig) { r.remove("o3"); r.remove("o4") })
}

func TestAnObjectThatWasTooLargeForAMomentIsFoundSmallByAList(t *testing.T) {
	tooMuch(t, func(r *rig) { r.put("o1", strings.Repeat("x", 20_000)) }, func(r *rig) { r.put("o1", "1") })
}

// tooMuch exceeds a limit for half a minute, which every watch would replay.
func tooMuch(t *testing.T, begin, end func(r *rig)) {
	over(t, []engine{{name: "kinglet", start: limitedKinglet}}, setup{json: true}, func(r *rig) {
		r.synced()
		begin(r)
		r.put("o0", "2")
		testbubble.Elapse(30 * time.Second)
		r.status(reflector.BackingOff, something)
		end(r)
		// A wait is 30 to 60 s at most.
		testbubble.Elapse(2 * time.Minute)
		r.shows("o0=2", "o1=1", "o2=1")
		r.status(reflector.Watching, nil)
		r.took()
		r.put("o0", "3")
		testbubble.Elapse(time.Second)
		r.shows("o0=3", "o1=1", "o2=1")
		r.asked()
	})
}

// badWatches are what a server may answer to each watch for ever.
func badWatches() map[string]func(w http.ResponseWriter, r *http.Request) {
	const z = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"default","name":"z","resourceVersion":"9999999"}}}` + "\n"
	send := func(parts ...string) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			for _, part := range parts {
				switch part {
				case "cut":
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				case "hold":
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				default:
					if header, value, ok := strings.Cut(part, ": "); ok && len(part) < 90 {
						w.Header().Set(header, value)
						continue
					}
					_, _ = io.WriteString(w, strings.ReplaceAll(part, "AT", r.URL.Query().Get("resourceVersion")))
				}
			}
		}
	}
	again := strings.NewReplacer("9999999", "AT", "ADDED", "DELETED").Replace(z)
	mark := strings.ReplaceAll(again, "DELETED", "BOOKMARK")
	return map[string]func(w http.ResponseWriter, r *http.Request){
		"nothing and a cut":                     send("cut"),
		"nothing":                               send(),
		"half an event and a cut":               send(z[:70], "cut"),
		"half an event":                         send(z[:70]),
		"half an event of the length of two":    send("Content-Length: 300", z[:70]),
		"the event before and a cut":            send(again, "cut"),
		"the event before":                      send(again),
		"the bookmark before and a cut":         send(mark, "cut"),
		"the bookmark before":                   send(mark),
		"the bookmark before and half an event": send(mark, z[:70]),
		"bytes that only claim to be gzip":      send("Content-Encoding: gzip", z, "hold"),
		"half a gzip stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			gz := gzip.NewWriter(w)
			_, _ = io.WriteString(gz, z[:70])
			_ = gz.Flush()
		},
		"a page":                    send("Content-Type: text/html", "<html>log in</html>"),
		"a page and no end":         send("Content-Type: text/html", "<html>log in</html>", "hold"),
		"a page that claims to be":  send("Content-Type: application/json", "<html>log in</html>"),
		"a redirect to a page":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"no content":                func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"not modified":              func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"teapot":                    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"a list":                    send(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"AT"},"items":[]}`),
		"a status":                  send(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"InternalError","code":500}`),
		"an error without a status": send(`{"type":"ERROR","object":{}}`, "hold"),
		"an event without a type":   send(`{"object":{"kind":"ConfigMap","apiVersion":"v1"}}`, "cut"),
		"an event of another kind":  send(strings.ReplaceAll(again, "ConfigMap", "Secret"), "cut"),
		"events in an array":        send("["+z+"]", "hold"),
		"a frame that is no event":  send("\x00\x00\x00\x05\x01\x02\x03\x04\x05", "hold"),
		"a frame of two gigabytes":  send("\x7f\xff\xff\xff\x01\x02\x03\x04\x05", "hold"),
		"a frame that is cut":       send("\x00\x00\x00\x50k8s\x00\x0a", "cut"),
		"another encoding":          send("Content-Type: application/cbor-seq", "\xa1\x01\x02", "hold"),
		"an event that is not JSON": send(`{"type":"ADDED","object":}`+"\n", "hold"),
	}
}

func TestWhateverIsWrongWithEveryWatchTheStoreFollowsByLists(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2"} {
		for name, answer := range badWatches() {
			for _, e := range engines() {
				t.Run(proto+"/"+name+"/"+e.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { overHTTP(t, e, proto, answer, followed) })
				})
			}
		}
	}
}

func followed(r *rig, well func()) {
	r.put("o0", "2")
	testbubble.Elapse(5 * time.Minute)
	r.shows("o0=2", "o1=1")
	r.remove("o1")
	r.took()
	testbubble.Elapse(5 * time.Minute)
	r.shows("o0=2")
	r.polled()
	well()
	testbubble.Elapse(15 * time.Minute)
	r.took()
	r.put("o0", "3")
	testbubble.Elapse(time.Second)
	r.shows("o0=3")
	r.unlisted()
}

// unlisted checks that there was no list since requests were last looked at.
func (r *rig) unlisted() {
	r.t.Helper()
	for _, q := range r.took() {
		if strings.HasPrefix(q.what, "list") {
			r.t.Errorf("asked for %s", q.what)
		}
	}
}

func TestAQuietWatchThatIsResetEveryMinuteIsGoneOnWithWithoutAList(t *testing.T) {
	minute := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-time.After(time.Minute)
		panic(http.ErrAbortHandler)
	}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2"} {
		for _, e := range engines() {
			t.Run(proto+"/"+e.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					overHTTP(t, e, proto, minute, func(r *rig, well func()) {
						r.took()
						testbubble.Elapse(30 * time.Minute)
						r.unlisted()
						well()
						r.put("o0", "2")
						testbubble.Elapse(2 * time.Minute)
						r.shows("o0=2", "o1=1")
						r.unlisted()
					})
				})
			})
		}
	}
}

// overHTTP runs body with an informer that has synced with o0 and o1, while each watch is
// answered by answer, until well is called.
func overHTTP(t *testing.T, e engine, proto string, answer http.HandlerFunc, body func(r *rig, well func())) {
	r := &rig{t: t, engine: e, storage: apiserver.NewStorage(apiserver.ConfigMaps)}
	r.arm(nil)
	// Without streams all watches begin as watches.
	r.server = apiserver.New(r.storage, apiserver.Options{Version: apiserver.V133, Inject: r.note})
	defer r.server.Close()
	r.put("o0", "1")
	r.put("o1", "1")
	var well atomic.Bool
	r.start(overPipes(t, proto == "HTTP/2", func(w http.ResponseWriter, req *http.Request) {
		switch q := req.URL.Query(); {
		case req.URL.Path == "/login":
			_, _ = io.WriteString(w, "<html>log in</html>")
		case !well.Load() && q.Get("watch") != "" && q.Get("sendInitialEvents") == "":
			answer(w, req)
		default:
			r.server.ServeHTTP(w, req)
		}
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.inf.Run(ctx) }()
	testbubble.Elapse(5 * time.Second)
	body(r, func() { well.Store(true) })
	r.settled()
	stop()
	<-ended
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// overPipes serves h until the end of the test, and returns a config for it.
func overPipes(t *testing.T, http2 bool, h http.HandlerFunc) *rest.Config {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	listener := make(pipes)
	server := &http.Server{Handler: h, Protocols: &protocols}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		listener <- there
		return here, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &rest.Config{Host: "http://apiserver.test", Transport: transport, QPS: -1}
}
