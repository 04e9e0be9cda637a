package command

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestThePageIsServedAndNamesWhatIsWrong(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Pending"))
	s.refuseWith(refusal(forbiddenSecrets(), secretsPath))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods,secrets", "-A", "--http", "localhost:0")...)
	p.err.wait(t, `page: http://(localhost|127\.0\.0\.1):\d+/`)
	p.err.wait(t, `pods: 1 object`)
	p.err.wait(t, `error: secrets: forbidden`)
	_, address, _ := strings.Cut(p.err.String(), "page: ")
	address, _, _ = strings.Cut(address, "\n")
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 broken among 2 informers", "grant list and watch on secrets to "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	metrics, err := http.Get(address + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics.Body.Close()
	if metrics.StatusCode != http.StatusNotFound {
		t.Errorf("what asks for metrics gets %s", metrics.Status)
	}
	p.interrupt()
	p.end(t, exitFailed) // secrets never synced
	if _, err := http.Get(address); err == nil {
		t.Error("the page is served when the command has ended")
	}
	http.DefaultClient.CloseIdleConnections()
}

// No server is asked for anything first: the kubeconfig names none.
func TestAPageThatCannotBeServedIsAnErrorAtOnce(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		address string
		want    string
	}{
		{"8080", "missing port in address"},
		{"http://localhost:8080", "too many colons in address"},
		{":99999", "invalid port"},
		{taken.Addr().String(), "address already in use"},
	} {
		p := start(t, append(kubeconfig(t, "http://127.0.0.1:1"), "watch", "pods", "--http", c.address)...)
		p.err.wait(t, "error: --http: .*"+c.want)
		p.end(t, exitFailed)
		if lines := strings.Count(p.err.String(), "\n"); lines != 1 {
			t.Errorf("--http %s: %d lines: %s", c.address, lines, p.err.String())
		}
	}
}
