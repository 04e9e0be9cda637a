package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/internal/page"
	"github.com/kinglet-go/kinglet/internal/page/samples"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func of(c *samples.Cluster) http.Handler {
	return page.New(page.Options{Informers: c.Informers, Controllers: c.Controllers})
}

func get(t testing.TB, h http.Handler, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d: %s", target, w.Code, w.Body)
	}
	return w.Body.String()
}

// order checks that all of text stands in body, in this order.
func order(t *testing.T, body string, text ...string) {
	t.Helper()
	at := 0
	for _, s := range text {
		i := strings.Index(body[at:], s)
		if i < 0 {
			t.Errorf("%q is not there, or not after what was before it", s)
			continue
		}
		at += i + len(s)
	}
}

func TestThePageNamesTheWorstFirstWithCauseTimeAndWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := get(t, of(samples.New()), "/")
		order(t, body, "1 broken, 4 warnings among 11 informers and 2 controllers",
			"<b>forbidden</b>", "for 3m12s", ">secrets</a>", "forbidden (403): User &#34;system:serviceaccount:shop:reader&#34; cannot watch",
			"grant list and watch on secrets to system:serviceaccount:shop:reader (a ClusterRole and a ClusterRoleBinding)",
			"<b>quarantine</b>", ">deployments</a>", "<b>handler stalled</b>", ">pods</a>", "handler index to search has been in one call for 43s; 1,904 changes wait",
			"<table", "✗</span> forbidden", "!</span> quarantine", "!</span> handler stalled", "ok")
	})
}

func TestAServerThatIsAwayIsOneProblemOfAllInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := samples.New()
		many := c.Many(600)
		h := page.New(page.Options{Informers: func() []page.Informer { return many }, Controllers: c.Controllers})
		body := get(t, h, "/")
		if n := strings.Count(body, "no connection to the server"); n != 1 {
			t.Errorf("it is said %d times", n)
		}
		order(t, body, "unreachable", "widgets-0003", "and 14 more", "no connection to the server: connection refused", "350 more informers: show all")
		if n := strings.Count(get(t, h, "/?all=1"), `scope="row"`); n != 602 {
			t.Errorf("%d rows", n)
		}
	})
}

// Of a thousand watches on which nothing comes, each has been silent for another time.
func TestProblemsThatDifferInNumbersAloneAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := samples.New()
		var many []page.Informer
		for k := range 100 {
			i := c.Informers()[1].Status()
			i.Name = fmt.Sprintf("widgets-%02d", k)
			i.LastContact = time.Now().Add(-130*time.Second - time.Duration(k)*time.Second)
			i.Handlers = []status.Handler{{Name: "queue", CallSince: time.Now().Add(-4*time.Second - time.Duration(k)*time.Second), Pending: 20 + 100*k}}
			many = append(many, samples.Of(i))
		}
		h := page.New(page.Options{Informers: func() []page.Informer { return many }, Controllers: func() []page.Controller { return nil }})
		body := get(t, h, "/")
		for _, what := range []string{"nothing came on the watch", "has been in one call"} {
			if n := strings.Count(body, what); n != 1 {
				t.Errorf("%s is said %d times", what, n)
			}
		}
		order(t, body, "100 warnings among 100 informers", "<b>silent</b>", "for 3m49s", ">widgets-00</a>", "and 94 more",
			"nothing came on the watch for 3m49s", "<b>handler stalled</b>", "in one call for 1m43s; 9,920 changes wait")
	})
}

func TestRowsAreSortedAsTheAddressSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := of(samples.New())
		names := func(query string) (out []string) {
			body := get(t, h, "/"+query)
			for _, line := range strings.Split(body[strings.Index(body, "<tbody"):strings.Index(body, "<h2>")], "<tr")[1:] {
				_, rest, _ := strings.Cut(line, "▸</span> ")
				name, _, _ := strings.Cut(rest, "</a>")
				out = append(out, name)
			}
			return out
		}
		byName := names("?sort=name")
		if !slices.IsSorted(byName) || len(byName) != 11 {
			t.Errorf("%q", byName)
		}
		down := names("?sort=name&desc=1")
		slices.Reverse(down)
		if !slices.Equal(down, byName) {
			t.Errorf("%q", down)
		}
		for query, want := range map[string]string{"": "secrets", "?sort=objects&desc=1": "pods", "?sort=objects": "certificates",
			"?sort=lists&desc=1": "jobs", "?sort=pending&desc=1": "pods", "?sort=bad&desc=1": "deployments", "?sort=nonsense": "secrets",
			"?sort=contact&desc=1": "secrets"} {
			if got := names(query)[0]; got != want {
				t.Errorf("%s: %s is first, not %s", query, got, want)
			}
		}
	})
}

func TestWhatIsUnfoldedStaysSoInEveryLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := of(samples.New())
		body := get(t, h, "/some/prefix?open=pods&open=:cleanup&sort=name")
		order(t, body, "Controllers", "Hot keys", "retry 40, update 4", "Running keys", "quota exceeded",
			`class="informers"`, "▾</span> pods", "Show stacks", "index to search", "shop/web-7d4b9 and 11 more", "Requests", "watches ended: timeout", "Decoder", "hit rate", "95.7 %",
			"Request", "Transitions", "backing off → watching", "Indexes", "node-0417", "Memory", "Largest objects", "List objects", "▸</span> certificates")
		for _, part := range strings.Split(body, `href="`)[1:] {
			link, _, _ := strings.Cut(part, `"`)
			if !strings.HasPrefix(link, "?") && !strings.HasPrefix(link, "#") && link != "data:," {
				t.Errorf("the link %s is not relative", link)
			}
			u, err := url.Parse(strings.ReplaceAll(link, "&amp;", "&"))
			if err != nil {
				t.Fatal(err)
			}
			// Of the links that show the page, all but those that close one.
			if open := u.Query()["open"]; strings.HasPrefix(link, "?") && len(open) < 1 {
				t.Errorf("%s forgets what is open", link)
			}
		}
		if !strings.Contains(body, `<meta http-equiv="refresh" content="2">`) {
			t.Error("it does not refresh itself")
		}
		if strings.Contains(get(t, h, "/?pause=1"), "http-equiv") {
			t.Error("it refreshes itself while it is paused")
		}
	})
}

func TestTheFilterLeavesWhatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := of(samples.New())
		for q, want := range map[string]int{"sets": 1, "apps": 2, "FORBIDDEN": 1, "forbidden": 1, "broken": 1, "backing": 1, "nothing": 0} {
			if n := strings.Count(get(t, h, "/?q="+q), `data-l="Objects"`); n != want {
				t.Errorf("%q leaves %d", q, n)
			}
		}
	})
}

func TestTheDocumentForProgramsHasProblemsAndDetails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		of(samples.New()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?format=json&open=secrets", nil))
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Error(got)
		}
		var doc struct {
			State, Headline string
			Informers       []struct {
				Name, Resource, State, Phase, LastError string
				Objects                                 int
				Problems                                []struct {
					Cause, What, Do string
					Since           time.Time
				}
				ListsByCause map[string]uint64
				Handlers     []struct{ Name string }
				Transitions  []struct{ From, To, Error string }
			}
			Controllers []struct{ Name, State string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		first := doc.Informers[0]
		if doc.State != "broken" || len(doc.Informers) != 11 || len(doc.Controllers) != 2 || first.Name != "secrets" || first.State != "broken" ||
			first.Problems[0].Cause != "forbidden" || time.Since(first.Problems[0].Since) != 192*time.Second || !strings.HasPrefix(first.Problems[0].Do, "grant list and watch") ||
			first.Objects != 9120 || first.ListsByCause["start"] != 1 || len(first.Transitions) != 4 || !strings.Contains(first.LastError, "403") {
			t.Errorf("%+v", doc)
		}
	})
}

// Every link of the page repeats the query, so a page of a thousand lines would be a
// thousand times as large.
func TestALongAddressMakesNoLargePage(t *testing.T) {
	h := of(samples.New())
	plain := len(get(t, h, "/?pause=1"))
	for _, name := range []string{"sort", "q", "open", "stack", "objects", "key"} {
		if n := len(get(t, h, "/?pause=1&"+name+"="+strings.Repeat("x", 1<<20))); n > plain+plain/10 {
			t.Errorf("%s: %d bytes, for %d", name, n, plain)
		}
	}
	many := url.Values{"pause": {"1"}}
	for k := range 1000 {
		many.Add("open", fmt.Sprint(k, strings.Repeat("x", 1000)))
	}
	if n := len(get(t, h, "/?"+many.Encode())); n < plain*2 || n > plain*100 {
		t.Errorf("%d bytes with a thousand long names, for %d", n, plain)
	}
}

func TestOnlyReadingIsAnswered(t *testing.T) {
	h := of(samples.New())
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "DELETE": 405} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != want || method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("%s: %d, %d bytes", method, w.Code, w.Body.Len())
		}
		if p := w.Header().Get("Content-Security-Policy"); want == 200 && !strings.Contains(p, "default-src 'none'") {
			t.Errorf("policy %q", p)
		}
	}
}

func TestChartsHaveTenMinutesAndAreForgottenTenMinutesAfterTheLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		var events atomic.Uint64
		one := samples.New().Informers()[0].Status()
		h := page.New(page.Options{
			Informers: func() []page.Informer {
				reads.Add(1)
				now := one
				now.Events += events.Add(50)
				return []page.Informer{samples.Of(now)}
			},
			Controllers: func() []page.Controller { return nil },
		})
		testclock.Elapse(time.Hour)
		if n := reads.Load(); n != 0 {
			t.Errorf("read %d times, and nobody has looked", n)
		}
		if strings.Contains(get(t, h, "/"), `class="spark"`) {
			t.Error("one look makes a chart")
		}
		testclock.Elapse(5 * time.Minute)
		body := get(t, h, "/?open=pods")
		order(t, body, `class="spark"`, "Events <b>10/s</b>", "Pending <b>1,904</b>", "Lag <b>0s</b>")
		testclock.Elapse(10*time.Minute + 5*time.Second)
		before := reads.Load()
		testclock.Elapse(time.Hour)
		if n := reads.Load(); n != before {
			t.Errorf("read %d times, and nobody has looked for ten minutes", n-before)
		}
		if strings.Contains(get(t, h, "/"), `class="spark"`) {
			t.Error("a chart of long ago is shown")
		}
		testclock.Elapse(time.Hour)
	})
}

func TestStacksOfAnInformersGoroutinesAreShownOnRequest(t *testing.T) {
	one := samples.New().Informers()[0].Status()
	one.Name = `po"d,s}`
	h := page.New(page.Options{Informers: func() []page.Informer { return []page.Informer{samples.Of(one)} }, Controllers: func() []page.Controller { return nil }})
	release, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		pprof.Do(t.Context(), pprof.Labels("kinglet.informer", one.Name, "kinglet.handler", "queue"), func(context.Context) { standStill(release) })
	}()
	target := "/?open=" + url.QueryEscape(one.Name)
	if strings.Contains(get(t, h, target), "standStill") {
		t.Error("stacks are shown unasked")
	}
	for !strings.Contains(get(t, h, target+"&stack="+url.QueryEscape(one.Name)), "page_test.standStill") {
		if t.Context().Err() != nil {
			t.Fatal("no stack")
		}
	}
	if body := get(t, h, target+"&stack=other"); strings.Contains(body, "standStill") {
		t.Error("the stacks of another are shown")
	}
	close(release)
	<-ended
}

//go:noinline
func standStill(release chan struct{}) { <-release }

func TestSecretsShowNoTextOfADecoder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := samples.New()
		i := c.Informers()[2].Status()
		i.LastError = fmt.Errorf("hunter2")
		i.Recent.Last = i.LastError
		i.Quarantined = 1
		in := samples.Of(i)
		in.Inspect = func() status.Details {
			d := samples.Details(&i)
			d.Quarantined[0].Err = "hunter2"
			d.Transitions = []reflector.Transition{{Err: fmt.Errorf("hunter2")}}
			return d
		}
		h := page.New(page.Options{Informers: func() []page.Informer { return []page.Informer{in} }, Controllers: c.Controllers})
		for _, target := range []string{"/?open=secrets", "/?open=secrets&format=json"} {
			if strings.Contains(get(t, h, target), "hunter2") {
				t.Error(target + " shows what a decoder said")
			}
		}
	})
}
