package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/source"
)

// program is a set of informers of a server in memory.
type program struct {
	storage *apiserver.Storage
	server  *apiserver.Server
	set     *kinglet.Set
	fault   atomic.Pointer[apiserver.Fault]
}

func run(t *testing.T) *program {
	p := &program{storage: apiserver.NewStorage(apiserver.ConfigMaps, apiserver.Pods), set: kinglet.NewSet()}
	for k := range 20 {
		p.put(t, fmt.Sprintf("o%d", k))
	}
	p.server = apiserver.New(p.storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
		if r.Resource.Resource == "configmaps" {
			return p.fault.Load()
		}
		return nil
	}})
	start[*corev1.ConfigMap](t, p, apiserver.ConfigMaps)
	start[*corev1.Pod](t, p, apiserver.Pods)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.set.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.server.Close()
	})
	return p
}

func start[T any](t *testing.T, p *program, r apiserver.Resource) {
	src, err := source.FromConfig[T](p.server.Config(), r.GroupVersionResource, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{Name: r.Resource, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.set.Add(inf); err != nil {
		t.Fatal(err)
	}
}

func (p *program) put(t *testing.T, name string) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"<b>": "&"}}
	if _, err := p.storage.Create(obj); err != nil {
		t.Fatal(err)
	}
}

func TestThePageLoadsRefreshesAndUnfolds(t *testing.T) {
	p := run(t)
	b := open(t)
	b.as(light)
	address := b.serve(page.Handler(p.set))
	b.do(chromedp.Navigate(address))
	b.within(20*time.Second, "both informers are well", says("All 2 informers follow the server"))

	// It shows what happens without being asked to.
	p.put(t, "another")
	b.within(10*time.Second, "the new object is counted", `document.querySelector("tbody tr:has(a[aria-expanded]) td[data-l=Objects]").innerText.includes("21")`)

	// Unfolded, it stays unfolded when it refreshes, and the window where it is.
	b.as(look{"low", 1440, 240, false})
	b.click(`//a[contains(., "configmaps")]`, 10*time.Second, "the line is unfolded", `document.querySelectorAll("tr.details").length == 1 && document.querySelector("[aria-expanded=true]").innerText.includes("configmaps")`)
	b.within(5*time.Second, "it is scrolled", `(window.scrollTo(0, 137), window.scrollY == 137)`)
	loaded := eval[string](b, `document.querySelector("time").innerText`)
	b.within(10*time.Second, "it has another time", fmt.Sprintf(`document.querySelector("time").innerText != %q`, loaded))
	b.within(5*time.Second, "it is where it was", `Math.abs(window.scrollY - 137) < 2`)
	b.within(5*time.Second, "what was unfolded still is", `document.querySelectorAll("tr.details").length == 1`)

	// Folded.
	b.as(light)
	fold := `//th/a[contains(., "configmaps")]`
	b.click(fold, 10*time.Second, "the line is folded", `document.querySelectorAll("tr.details").length == 0`)

	// Paused, it stays as it is, and can be filtered.
	b.click(`//a[contains(., "Pause")]`, 10*time.Second, "there is a filter", `document.querySelector("#q") != null`)
	eval[bool](b, `window.before = true`)
	// Meanwhile a page that is not paused refreshes twice.
	other := open(t)
	other.do(chromedp.Navigate(address))
	other.refreshed()
	other.refreshed()
	if !eval[bool](b, `window.before == true`) {
		t.Error("it has refreshed while it was paused")
	}
	b.click(fold, 10*time.Second, "it is unfolded", `document.querySelectorAll("tr.details").length == 1`)
	eval[bool](b, `document.querySelector("#q").value = "pods", document.querySelector("form").submit(), true`)
	b.within(10*time.Second, "only what matches, and what is unfolded, is left", `document.querySelectorAll("th.name").length == 2 && document.querySelector("#q") == null`)
}

func TestAFaultStandsOnThePageWithinFiveSecondsAndGoesWhenItIsOver(t *testing.T) {
	p := run(t)
	b := open(t)
	b.as(light)
	b.do(chromedp.Navigate(b.serve(page.Handler(p.set))))
	b.within(20*time.Second, "both informers are well", says("All 2 informers follow the server"))
	refused := apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", fmt.Errorf(`User "system:serviceaccount:shop:reader" cannot watch resource "configmaps" in API group "" at the cluster scope`))
	p.fault.Store(&apiserver.Fault{Answer: refused})
	p.server.Disconnect()
	took := b.within(5*time.Second, "the refusal is named", says("→ what to do: grant list and watch on configmaps to system:serviceaccount:shop:reader")+" || "+says("grant list and watch on configmaps to system:serviceaccount:shop:reader"))
	t.Logf("on the page after %v", took)
	if title := eval[string](b, "document.title"); !strings.Contains(title, "1 broken") {
		t.Errorf("the title is %q", title)
	}
	p.fault.Store(nil)
	b.within(2*time.Minute, "it is over", "!("+says("broken")+")")
}

func TestLabelsRolesAndContrastAreRight(t *testing.T) {
	b := open(t)
	for _, l := range looks {
		for _, target := range []string{"/", "/?pause=1&open=pods&open=deployments&open=:cleanup&stack=pods"} {
			b.as(l)
			b.do(chromedp.Navigate(b.still(sample(t, target))))
			var found []string
			if err := json.Unmarshal([]byte(eval[string](b, audit)), &found); err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Errorf("%s, %s: %s", l.name, target, f)
			}
			if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > l.width {
				t.Errorf("%s, %s: the page is %d wide", l.name, target, wide)
			}
		}
	}
}

// The checks themselves find what they are there for.
func TestTheChecksOfLabelsAndContrastFindWhatIsWrong(t *testing.T) {
	b := open(t)
	bad := `<!DOCTYPE html><html><head><title></title></head><body><h1>a</h1><h3>b</h3><p style="color:#999;background:#fff">pale</p>
<a href="?"></a><input name="x"><svg role="img"></svg><table><tr><td>no heads</td></tr></table><b id="two"></b><b id="two"></b><div role="row">x</div></body></html>`
	b.do(chromedp.Navigate(b.still(bad)))
	var found []string
	if err := json.Unmarshal([]byte(eval[string](b, audit)), &found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no language", "no title", "contrast", "a link without a name", "a field without a label", "an image without a name", "a table without heads", "id two stands twice", "from h1 to h3"} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%q is not among %q", want, found)
		}
	}
}

func TestNothingIsReadableOnlyByColour(t *testing.T) {
	b := open(t)
	b.as(light)
	b.do(chromedp.Navigate(b.still(sample(t, "/"))))
	states := eval[[]string](b, `[...document.querySelectorAll("td.state")].map(e => e.innerText)`)
	for k, s := range states {
		if words := strings.Fields(s); len(words) < 2 || !strings.Contains("✗!·✓", words[0]) {
			t.Errorf("line %d says %q", k, s)
		}
	}
}
