// Package html has tests alone: a parser of HTML as browsers have it finds in the page
// nothing that a name, a label or an error's text brought in.
package html

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/kinglet-go/kinglet/internal/tests/pagesamples"
	"github.com/kinglet-go/kinglet/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get returns the page of informers whose names and errors are text.
func get(t *testing.T, text, target string) string {
	t.Helper()
	c := pagesamples.New()
	h := page.Handler(c.Set(c.Hostile(text)))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	q := r.URL.Query()
	q.Set("open", text)
	q.Set("q", text)
	if target == "paused" {
		q.Set("pause", "1")
		q.Set("stack", text)
	}
	r.URL.RawQuery = q.Encode()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%q: %d: %s", text, w.Code, w.Body)
	}
	return w.Body.String()
}

// shape is the page's elements and the names of their attributes, without text; links
// and the rest of what may lead away are returned beside it.
func shape(t *testing.T, body string) (shape, links []string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Fatal(z.Err())
			}
			return shape, links
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			one := token.Data
			for _, a := range token.Attr {
				one += " " + a.Key
				switch a.Key {
				case "href", "src", "action":
					links = append(links, a.Val)
				}
			}
			shape = append(shape, one)
		case html.EndTagToken:
			shape = append(shape, "/"+z.Token().Data)
		case html.CommentToken:
			t.Fatalf("a comment: %s", z.Token().Data)
		}
	}
}

// plains has the shapes of the pages of a harmless text, by target.
var plains sync.Map

func plain(t *testing.T, target string) []string {
	t.Helper()
	if was, ok := plains.Load(target); ok {
		return was.([]string)
	}
	made, _ := shape(t, get(t, "plain", target))
	plains.Store(target, made)
	return made
}

var targets = []string{"", "paused"}

func check(t *testing.T, text, target string) {
	t.Helper()
	got, links := shape(t, get(t, text, target))
	want := plain(t, target)
	// A filter that matches nothing, or an empty name, leaves fewer lines; so only what no
	// page has may differ in kind.
	for _, element := range got {
		if !slices.Contains(want, element) && !known(element) {
			t.Errorf("%q brings in <%s>", text, element)
		}
	}
	for _, l := range links {
		if !strings.HasPrefix(l, "?") && l != "data:," {
			t.Errorf("%q makes a link to %q", text, l)
		}
	}
}

// known are elements that some page of plain text has.
func known(element string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(element, "/"), " ")
	allowed := map[string]string{"p": " class", "span": " class aria-hidden title", "a": " href aria-expanded title", "div": " class tabindex role aria-label",
		"table": " class role aria-label", "td": " class role data-l colspan", "pre": " tabindex", "dl": "", "dt": "", "dd": "", "input": " id name type value placeholder", "b": ""}
	attributes, ok := allowed[name]
	if !ok {
		return false
	}
	for _, a := range strings.Fields(element) {
		if a != name && a != "/"+name && !slices.Contains(strings.Fields(attributes), a) {
			return false
		}
	}
	return true
}

var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `</style><script>`, `</pre></td></table>`,
	`<!--`, `]]>`, "\x00\x01\xff", `&lt;script&gt;`, `{{.Style}}`, `//evil.example/`, `?q=</title>`, "a\nb\tc", ``, `#`, `%zz`, `" autofocus onfocus="x`,
}

func TestNoNameAndNoErrorBreaksThePage(t *testing.T) {
	for _, text := range hostile {
		for _, target := range targets {
			check(t, text, target)
		}
	}
}

// Without escaping, the check finds something: it is no check that cannot fail.
func TestTheCheckFindsWhatIsNotEscaped(t *testing.T) {
	body := strings.ReplaceAll(get(t, "plain", ""), "plain", `<script>alert(1)</script>`)
	got, _ := shape(t, body)
	if !slices.Contains(got, "script") || known("script") {
		t.Error("a script is not noticed")
	}
	if known("span onclick") || known("a href onclick") || !known("span class") {
		t.Error("attributes are not looked at")
	}
}

func FuzzNoNameAndNoErrorBreaksThePage(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, paused bool) {
		target := targets[0]
		if paused {
			target = targets[1]
		}
		check(t, text, target)
	})
}
