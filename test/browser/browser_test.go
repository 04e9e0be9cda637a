package browser_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
)

var screenshots = flag.String("screenshots", "", "write pictures of the page into this folder")

func TestMain(m *testing.M) {
	flag.Parse()
	if chromium() == "" {
		// Without -v nobody sees it: the Makefile says it in the last line.
		fmt.Println(leftOut)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(code) }))
}

const leftOut = "LEFT OUT: the tests of the page in a browser, for there is no chromium here (Debian: apt-get install chromium)"

// chromium is the path of the browser, empty where there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is a tab of a browser of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
	// servers end after the browser, which may ask one for an icon at any time: its
	// console shows a connection that is refused.
	servers []*httptest.Server
}

// look is how a page is looked at.
type look struct {
	name          string
	width, height int64
	dark          bool
}

var (
	light  = look{"light", 1440, 900, false}
	dark   = look{"dark", 1440, 900, true}
	narrow = look{"narrow", 390, 844, false}
	looks  = []look{light, dark, narrow}
)

// open starts a browser. At the end of the test its console must have been silent.
func open(t *testing.T) *tab {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true))...)
	ctx, end := chromedp.NewContext(alloc)
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	b := &tab{t: t, ctx: ctx}
	b.do() // starts it
	console := chromedp.Console(ctx)
	heard := make(chan []string, 1)
	go func() {
		var lines []string
		for m, err := range console {
			if err != nil {
				break
			}
			lines = append(lines, m.String()+" "+m.URL)
		}
		heard <- lines
	}()
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // the browser ends, and with it its console
		cancel()
		end()
		stop()
		for _, s := range b.servers {
			s.Close()
		}
		for _, line := range <-heard {
			t.Errorf("the console says: %s", line)
		}
	})
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// as emulates a screen, and a wish for dark or light.
func (b *tab) as(l look) {
	b.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(l.width, l.height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// poll calls done until it returns true, at most for d. A browser is polled in real
// time: the page has no script that could announce a change, and no event tells that a
// refresh has replaced the page in which an expression was evaluated.
func (b *tab) poll(d time.Duration, done func() bool) error {
	return wait.PollUntilContextTimeout(b.ctx, 50*time.Millisecond, d, true, func(context.Context) (bool, error) { return done(), nil })
}

// eval evaluates an expression in the page, again if a refresh interrupts it.
func eval[T any](b *tab, expression string) (result T) {
	b.t.Helper()
	var err error
	if b.poll(10*time.Second, func() bool {
		result, err = chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
		return err == nil
	}) != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return result
}

// within waits until an expression is true.
func (b *tab) within(d time.Duration, what, expression string) time.Duration {
	b.t.Helper()
	began := time.Now()
	if b.poll(d, func() bool { return eval[bool](b, expression) }) != nil {
		b.t.Fatalf("not within %v: %s; the page says:\n%s", d, what, eval[string](b, "document.body.innerText"))
	}
	return time.Since(began)
}

// click clicks on a link until done is true. The page may refresh itself at any time, and
// a click on a page that goes is lost. A second one on the same page changes nothing.
func (b *tab) click(xpath string, d time.Duration, what, done string) {
	b.t.Helper()
	b.within(d, what, fmt.Sprintf(`(%s) || (() => {
		if (!(window.clicked > Date.now() - 1000)) {
			window.clicked = Date.now();
			document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue?.click();
		}
		return false;
	})()`, done, xpath))
}

// refreshed waits until the page has refreshed itself.
func (b *tab) refreshed() {
	b.t.Helper()
	eval[bool](b, `window.before = true`)
	b.within(10*time.Second, "it has refreshed", `!window.before`)
}

// serve serves a page under a prefix, as debug pages are, until the browser has ended.
func (b *tab) serve(h http.Handler) (address string) {
	mux := http.NewServeMux()
	// A browser sometimes asks for the icon of a page that names none (the tests' own
	// pages, JSON), at a time of its choosing, and its console shows a 404.
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/debug/kinglet/", http.StripPrefix("/debug/kinglet", h))
	server := httptest.NewServer(mux)
	b.servers = append(b.servers, server)
	return server.URL + "/debug/kinglet/"
}

// says is a condition that the page has a text.
func says(text string) string {
	return fmt.Sprintf("document.body.innerText.toLowerCase().includes(%q)", strings.ToLower(text))
}
