package browser_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/chromedp/chromedp"

	"github.com/kinglet-go/kinglet/internal/tests/pagesamples"
	"github.com/kinglet-go/kinglet/page"
)

// sample returns the page of samples at an address.
func sample(t *testing.T, target string) (body string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := pagesamples.New()
		w := httptest.NewRecorder()
		page.Handler(c.Set(c.Informers())).ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		body = w.Body.String()
	})
	return body
}

// still serves a page that does not change.
func (b *tab) still(body string) (address string) {
	return b.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body) }))
}

func TestPicturesOfThePage(t *testing.T) {
	dir := *screenshots
	if dir == "" {
		dir = t.TempDir() // that they can be drawn is tested all the same
	}
	b := open(t)
	for file, shot := range map[string]struct {
		look   look
		target string
	}{
		"page-light.png":  {light, "/?pause=1"},
		"page-dark.png":   {dark, "/?pause=1"},
		"page-narrow.png": {narrow, "/?pause=1"},
		"open-light.png":  {light, "/?pause=1&open=pods"},
		"open-dark.png":   {dark, "/?pause=1&open=deployments&open=:cleanup"},
		"open-narrow.png": {narrow, "/?pause=1&open=pods"},
	} {
		b.as(shot.look)
		b.do(chromedp.Navigate(b.still(sample(t, shot.target))))
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
