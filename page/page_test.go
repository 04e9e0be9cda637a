package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/pagesamples"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func of(c *pagesamples.Cluster) http.Handler {
	return page.Handler(c.Set(c.Informers()))
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
		body := get(t, of(pagesamples.New()), "/")
		order(t, body, "1 broken, 4 warnings among 11 informers and 2 controllers",
			"<b>forbidden</b>", "for 3m12s", ">secrets</a>", "forbidden (403): User &#34;system:serviceaccount:shop:reader&#34; cannot watch",
			"grant list and watch on secrets to system:serviceaccount:shop:reader (a ClusterRole and a ClusterRoleBinding)",
			"<b>quarantine</b>", ">deployments</a>", "<b>handler stalled</b>", ">pods</a>", "handler index to search has been in one call for 43s; 1,904 changes wait",
			"<table", "✗</span> forbidden", "!</span> quarantine", "!</span> handler stalled", "ok")
	})
}

func TestThePageShowsWhatIsObservedAndForgetsWhatIsGone(t *testing.T) {
	set := kinglet.NewSet()
	remove := set.Observe(&pagesamples.Informer{Is: status.Informer{Name: "observed"}})
	h := page.Handler(set)
	order(t, get(t, h, "/"), "1 informer", "observed")
	remove()
	if body := get(t, h, "/"); strings.Contains(body, "observed") || !strings.Contains(body, "No informers") {
		t.Error(body)
	}
}

func TestAServerThatIsAwayIsOneProblemOfAllInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pagesamples.New()
		many := c.Many(600)
		h := page.Handler(c.Set(many))
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
		c := pagesamples.New()
		var many []*pagesamples.Informer
		for k := range 100 {
			i := c.Informers()[1].Status()
			i.Name = fmt.Sprintf("widgets-%02d", k)
			i.LastContact = time.Now().Add(-130*time.Second - time.Duration(k)*time.Second)
			i.Handlers = []status.Handler{{Name: "queue", CallSince: time.Now().Add(-4*time.Second - time.Duration(k)*time.Second), Pending: 20 + 100*k}}
			many = append(many, pagesamples.Of(i))
		}
		set := kinglet.NewSet()
		for _, i := range many {
			set.Observe(i)
		}
		h := page.Handler(set)
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

func TestTheUnfoldedAreFirstThenTheWorstThenByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := of(pagesamples.New())
		names := func(query string) (out []string) {
			body := get(t, h, "/"+query)
			for _, line := range strings.Split(body[strings.Index(body, "<tbody"):strings.Index(body, "<h2>")], "<tr")[1:] {
				_, rest, _ := strings.Cut(line, "▸</span> ")
				name, _, _ := strings.Cut(rest, "</a>")
				out = append(out, name)
			}
			return out
		}
		lines := names("")
		if len(lines) != 11 || lines[0] != "secrets" {
			t.Errorf("%q", lines)
		}
		// Those without a problem are the last.
		if last := lines[len(lines)-3:]; !slices.IsSorted(last) {
			t.Errorf("%q", last)
		}
		if got := names("?open=" + lines[10])[0]; got != "" { // its arrow is another
			t.Errorf("%s is first, not the unfolded one", got)
		}
	})
}

func TestWhatIsUnfoldedStaysSoInEveryLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := of(pagesamples.New())
		body := get(t, h, "/some/prefix?open=pods&open=:cleanup")
		order(t, body, "Controllers", "Hot keys", "retry 40, update 4", "Running keys", "quota exceeded",
			`class="informers"`, "▾</span> pods", "Show stacks", "index to search", "shop/web-7d4b9 and 11 more", "Requests", "watches ended: timeout", "Decoder", "hit rate", "95.7 %",
			"Request", "Transitions", "backing off → watching", "Indexes", "node-0417", "Memory", "Largest objects", "▸</span> certificates")
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
		h := of(pagesamples.New())
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
		of(pagesamples.New()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?format=json&open=secrets", nil))
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
	h := of(pagesamples.New())
	plain := len(get(t, h, "/?pause=1"))
	for _, name := range []string{"q", "open", "stack"} {
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
	h := of(pagesamples.New())
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

func TestStacksOfAnInformersGoroutinesAreShownOnRequest(t *testing.T) {
	one := pagesamples.New().Informers()[0].Status()
	one.Name = `po"d,s}`
	set := kinglet.NewSet()
	set.Observe(pagesamples.Of(one))
	h := page.Handler(set)
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

func TestNothingOfASecretIsOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pagesamples.New()
		i := c.Informers()[2].Status()
		i.LastError = fmt.Errorf("hunter2")
		i.Recent.Last = i.LastError
		i.Quarantined = 1
		in := pagesamples.Of(i)
		in.In.Quarantined[0].Err = "hunter2"
		in.In.Transitions = []reflector.Transition{{Err: fmt.Errorf("hunter2")}}
		in.In.Indexes[1].Largest = "hunter2"
		h := page.Handler(c.Set([]*pagesamples.Informer{in}))
		for _, target := range []string{"/?open=secrets", "/?open=secrets&format=json"} {
			if strings.Contains(get(t, h, target), "hunter2") {
				t.Error(target + " shows what a decoder said, or what an index has")
			}
		}
	})
}

// A name that a web site resolves to 127.0.0.1 leads to the page as well as localhost does.
func TestOnThisMachineOnlyItsOwnNamesAreAnswered(t *testing.T) {
	h := of(pagesamples.New())
	loopback, other := net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 7)
	for _, c := range []struct {
		host  string
		local net.IP
		want  int
	}{
		{"localhost", loopback, 200}, {"LOCALHOST:8080", loopback, 200}, {"127.0.0.1:8080", loopback, 200}, {"[::1]:8080", net.IPv6loopback, 200},
		{"[::1]", net.IPv6loopback, 200}, {"attacker.example", loopback, 403}, {"attacker.example:8080", net.IPv6loopback, 403},
		{"localhost.attacker.example", loopback, 403}, {"127.0.0.1.attacker.example", loopback, 403}, {"", loopback, 403},
		{"attacker.example", other, 200}, {"page.example:8080", nil, 200},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = c.host
		if c.local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: c.local, Port: 8080}))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || w.Code != 200 && strings.Contains(w.Body.String(), "pods") {
			t.Errorf("%s on %v: %d", c.host, c.local, w.Code)
		}
	}
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "attacker.example"
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a server answers %s", answer.Status)
	}
}

func TestOneHandlerServesProbesMetricsAndThePage(t *testing.T) {
	informer := &pagesamples.Informer{Is: status.Informer{Name: "secrets"}}
	set := kinglet.NewSet()
	set.Observe(informer)
	mux := page.Mux(set, http.NotFoundHandler())
	ask := func(target string, local net.IP) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: local, Port: 8080}))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	loopback, pod := net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 7)
	for _, test := range []struct {
		target string
		local  net.IP
		synced bool
		code   int
		text   string
	}{
		{"/healthz", pod, false, http.StatusOK, "ok"},
		{"/readyz", pod, false, http.StatusServiceUnavailable, "secrets: not synced"},
		{"/readyz", pod, true, http.StatusOK, "ok"},
		{"/metrics", pod, true, http.StatusNotFound, ""},
		{"/debug/kinglet/", loopback, true, http.StatusOK, "secrets"},
		{"/debug/kinglet/", pod, true, http.StatusForbidden, "port-forward"},
	} {
		informer.Is.Synced = test.synced
		if code, body := ask(test.target, test.local); code != test.code || !strings.Contains(body, test.text) {
			t.Errorf("%s, synced %v: %d %s", test.target, test.synced, code, body)
		}
	}
}

// What programs without the page would link with it.
func TestThePackageKingletDoesNotImportThePage(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/kinglet-go/kinglet").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages := strings.Fields(string(out))
	for _, heavy := range []string{"html/template", "text/template", "net/http/pprof", "expvar", "github.com/kinglet-go/kinglet/page"} {
		if slices.Contains(packages, heavy) {
			t.Errorf("it imports %s", heavy)
		}
	}
	if !slices.Contains(packages, "github.com/kinglet-go/kinglet/status") {
		t.Errorf("no list of imports: %s", out)
	}
}
