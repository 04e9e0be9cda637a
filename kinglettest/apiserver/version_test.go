package apiserver_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// answer is what a server sent within five seconds.
type answer struct {
	status *metav1.Status // nil if it succeeded
	header http.Header
	body   []byte
	after  time.Duration
}

// ask sends a request for config maps. Nothing decompresses the answer.
func (w *world) ask(query string, header ...string) answer {
	w.Helper()
	cfg := w.server.Config()
	cfg.DisableCompression = true
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		w.Fatal(err)
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/api/v1/configmaps?"+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{header: resp.Header, after: time.Since(began)}
	if a.body, err = io.ReadAll(resp.Body); err != nil && ctx.Err() == nil {
		w.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		a.status = &metav1.Status{}
		if err := json.Unmarshal(a.body, a.status); err != nil {
			w.Fatalf("%v: %s", err, a.body)
		}
	}
	return a
}

// refused checks how a request was refused.
func (w *world) refused(a answer, code int32, reason metav1.StatusReason, message string) {
	w.Helper()
	if a.status == nil {
		w.Errorf("answered with %s", a.body)
		return
	}
	if a.status.Code != code || a.status.Reason != reason || !strings.Contains(a.status.Message, message) {
		w.Errorf("refused with %d %q: %s", a.status.Code, a.status.Reason, a.status.Message)
	}
}

// eachVersion runs test over every version, with the config maps a and b.
func eachVersion(t *testing.T, test func(*world, apiserver.Version)) {
	for _, v := range apiserver.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(apiserver.ConfigMaps)
				server := apiserver.New(storage, apiserver.Options{Version: v})
				defer server.Close()
				w := &world{T: t, storage: storage, server: server}
				w.create("a", nil)
				w.create("b", nil)
				test(w, v)
			})
		})
	}
}

const (
	watchList  = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	initialEnd = metav1.InitialEventsAnnotationKey
)

func TestAWatchListIsRefusedBy133AndAnsweredSince134(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		a := w.ask(watchList)
		if v >= apiserver.V134 {
			if a.status != nil || !bytes.Contains(a.body, []byte(initialEnd)) {
				w.Errorf("answered with %s", a.body)
			}
			return
		}
		w.refused(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`)
		if d := a.status.Details; d == nil || len(d.Causes) != 1 || d.Causes[0].Field != "sendInitialEvents" {
			w.Errorf("with details %v", d)
		}
		w.refused(w.ask(strings.Replace(watchList, "sendInitialEvents=true", "sendInitialEvents=false", 1)),
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "WatchList feature gate")
	})
}

// Since 1.34 such a watch is a watch-list by default.
func TestAWatchFromNoVersionEndsItsInitialEventsWithABookmarkSince134(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		for _, query := range []string{"watch=true", "watch=true&resourceVersion=0"} {
			for bookmarks, want := range map[string]bool{"": false, "&allowWatchBookmarks=true": v >= apiserver.V134} {
				a := w.ask(query + bookmarks)
				if a.status != nil || bytes.Count(a.body, []byte(`"ADDED"`)) != 2 || bytes.Contains(a.body, []byte(initialEnd)) != want {
					w.Errorf("%s%s: answered with %s", query, bookmarks, a.body)
				}
			}
		}
	})
}

func TestAWatchFromNoVersionShowsWhatIsStoredSince134AndWhatIsCachedBefore(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		w.server.Hold()
		w.create("c", nil)
		a := w.ask("watch=true")
		if fresh := bytes.Contains(a.body, []byte(`"name":"c"`)); fresh != (v >= apiserver.V134) {
			w.Errorf("answered with %s", a.body)
		}
	})
}

func TestAWatchListIsCompressedSince137(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		if v < apiserver.V134 {
			return
		}
		for accept, compressed := range map[string]bool{"identity": false, "deflate, gzip": v >= apiserver.V137} {
			a := w.ask(watchList, "Accept-Encoding", accept)
			if got := a.header.Get("Content-Encoding") == "gzip"; got != compressed {
				w.Errorf("to one that accepts %s: compressed %v", accept, got)
			}
			events := a.body
			if compressed {
				events = unzip(w.T, a.body)
			}
			if !bytes.Contains(events, []byte(`"name":"b"`)) || !bytes.Contains(events, []byte(initialEnd)) {
				w.Errorf("to one that accepts %s: %s", accept, events)
			}
		}
		// A watch from a version is not.
		if a := w.ask("watch=true&allowWatchBookmarks=true&resourceVersion=101", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "" {
			w.Errorf("a watch has the header %v", a.header)
		}
	})
}

// unzip reads members of gzip until there are no more, or half of one.
func unzip(t *testing.T, compressed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Errorf("the last member is not whole: %v", err)
	}
	return out
}

func TestAListAtAVersionToComeIsAnErrorOfEtcdIn133AndTimesOutSince134(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		first := w.ask("limit=1")
		var list metav1.List
		if err := json.Unmarshal(first.body, &list); err != nil {
			w.Fatal(err)
		}
		if err := w.storage.Restore(101); err != nil {
			w.Fatal(err)
		}
		for _, query := range []string{
			"resourceVersion=102&resourceVersionMatch=Exact", "resourceVersion=102&limit=1", "limit=1&continue=" + list.Continue,
		} {
			a := w.ask(query)
			if v < apiserver.V134 {
				w.refused(a, http.StatusInternalServerError, "", "etcdserver: mvcc: required revision is a future revision")
				continue
			}
			w.refused(a, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version: 102, current: 101")
			if a.after != 3*time.Second {
				w.Errorf("%s: refused after %v", query, a.after)
			}
		}
		// Within these three seconds the version may come.
		if v >= apiserver.V134 {
			time.AfterFunc(time.Second, func() { w.create("c", nil) })
			a := w.ask("resourceVersion=102&resourceVersionMatch=Exact")
			if a.status != nil || a.after != time.Second {
				w.Errorf("after %v: %v", a.after, a.status)
			}
		}
	})
}

func TestAListAtAVersionThatTheCacheLacksIsReadFromEtcdBy133Alone(t *testing.T) {
	eachVersion(t, func(w *world, v apiserver.Version) {
		w.server.Hold()
		w.create("c", nil)
		a := w.ask("resourceVersion=103&resourceVersionMatch=Exact")
		if v < apiserver.V134 {
			if a.status != nil || !bytes.Contains(a.body, []byte(`"name":"c"`)) {
				w.Errorf("answered with %s", a.body)
			}
			return
		}
		w.refused(a, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version: 103, current: 102")
	})
}

// What all the versions have in common, with the gates at their defaults.
func TestNoVersionServesCBOROrKnowsShards(t *testing.T) {
	eachVersion(t, func(w *world, _ apiserver.Version) {
		w.refused(w.ask("", "Accept", "application/cbor"), http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable")
		a := w.ask("", "Accept", "application/cbor, application/json")
		if a.status != nil || a.header.Get("Content-Type") != "application/json" {
			w.Errorf("with JSON as the second choice: %v %v", a.status, a.header)
		}
		for _, selector := range []string{"shardRange(object.metadata.uid,'0x0','0x1')", "nonsense"} {
			a := w.ask("shardSelector=" + selector)
			if a.status != nil || bytes.Contains(a.body, []byte("shardInfo")) || !bytes.Contains(a.body, []byte(`"name":"b"`)) {
				w.Errorf("a list of the shards %s: %s", selector, a.body)
			}
		}
	})
}

func TestTheZeroVersionIs136AndAnUnknownOneIsRefused(t *testing.T) {
	if got := apiserver.Version(0).String(); got != "1.36" {
		t.Errorf("the zero version is %s", got)
	}
	for _, v := range []apiserver.Version{32, 38, -1} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, "V133 to V137") || !strings.Contains(r, v.String()) {
					t.Errorf("%v: %v", v, r)
				}
			}()
			apiserver.New(apiserver.NewStorage(), apiserver.Options{Version: v})
		}()
	}
}
