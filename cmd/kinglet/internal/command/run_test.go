package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = golden.Rewrite()

// output is a stream that can be waited for.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer  // guarded by mu
	written chan struct{} // guarded by mu; closed and replaced at a write
	// fail, if set, is what the next writes return.
	fail error
}

func newOutput() *output { return &output{written: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail != nil {
		return 0, o.fail
	}
	o.text.Write(p)
	close(o.written)
	o.written = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait blocks until the text matches.
func (o *output) wait(t *testing.T, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(20 * time.Second)
	for {
		o.mu.Lock()
		text, written := o.text.String(), o.written
		o.mu.Unlock()
		if re.MatchString(text) {
			return
		}
		select {
		case <-written:
		case <-timeout:
			t.Fatalf("never matched %q:\n%s", pattern, text)
		}
	}
}

// program is one run of the command line.
type program struct {
	out, err  *output
	interrupt context.CancelFunc
	code      chan int
}

func start(t *testing.T, args ...string) *program {
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{out: newOutput(), err: newOutput(), interrupt: cancel, code: make(chan int, 1)}
	go func() { p.code <- Run(ctx, args, Streams{Out: p.out, Err: p.err, NoColor: true}) }()
	t.Cleanup(cancel)
	return p
}

// end waits for the exit code.
func (p *program) end(t *testing.T, want int) {
	t.Helper()
	select {
	case code := <-p.code:
		if code != want {
			t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", code, want, p.out, p.err)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("does not end\nstdout:\n%s\nstderr:\n%s", p.out, p.err)
	}
}

// kubeconfig writes one that points at the server, and returns the flags.
func kubeconfig(t *testing.T, server string, contexts ...string) []string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	config.AuthInfos["ann"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["work"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "ann", Namespace: "shop"}
	for _, name := range contexts {
		config.Contexts[name] = config.Contexts["work"]
	}
	config.CurrentContext = "work"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return []string{"--kubeconfig", path, "--cache-dir", t.TempDir()}
}

// tidy replaces what differs from run to run.
func tidy(text string) string {
	for _, r := range [][2]string{
		{`\d\d:\d\d:\d\d`, `HH:MM:SS`},
		{`"time":"[^"]*"`, `"time":"T"`},
		{`"uid":"[^"]*"`, `"uid":"U"`},
		{`"creationTimestamp":"[^"]*"`, `"creationTimestamp":"T"`},
		{`[\d.]+ ev/s`, `N ev/s`},
		{`http://127\.0\.0\.1:\d+`, `http://SERVER`},
		{`--kubeconfig \S+`, `--kubeconfig FILE`},
		{`/\S*/kubeconfig`, `FILE`},
		{` in \d+m?s`, ` in N`},
		{`after [\d.]+m?s`, `after N`},
		{`watched for [\d.]+m?s`, `watched for N`},
		{`\d+(\.\d+)? [KM]?i?B`, `N MiB`},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}

func TestEventsAreShownAsTheyHappen(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Running"))
	s.put(pod("other", "db-0", "Running"))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "po,deploy", "-A")...)
	p.err.wait(t, `pods: 2 objects`)
	p.err.wait(t, `deployments: 0 objects`)
	s.put(pod("shop", "web-1", "Pending"))
	p.out.wait(t, `ADDED .*web-1`)
	s.put(pod("shop", "web-1", "Running"))
	p.out.wait(t, `MODIFIED .*web-1`)
	s.put(deployment("shop", "web", 3))
	p.out.wait(t, `ADDED .*deployments`)
	s.put(deployment("shop", "web", 5))
	p.out.wait(t, `MODIFIED .*deployments`)
	s.removePod("shop", "web-1")
	p.out.wait(t, `DELETED .*web-1`)
	p.interrupt()
	p.end(t, exitOK)
	golden.Check(t, *rewrite, "events.txt", tidy(p.out.String()))
	for _, want := range []string{"interrupted", "RESOURCE", `pods +2 +1 +1 +1 `, `deployments +1 +1 +1 +0 `, "memory: heap"} {
		p.err.wait(t, want)
	}
}

func TestJSONIsOneDocumentAnEventAndNothingElseOnStdout(t *testing.T) {
	s := newAPIServer(t)
	managed := pod("shop", "web-0", "Pending")
	managed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}} // hidden, as by kubectl
	s.put(managed)
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods,nonsense", "-o", "JSON", "--show-initial")...)
	p.out.wait(t, `web-0`)
	s.put(pod("other", "db-0", "Running")) // in another namespace
	s.put(pod("shop", "web-0", "Running"))
	p.out.wait(t, `MODIFIED`)
	s.removePod("shop", "web-0")
	p.out.wait(t, `DELETED`)
	p.interrupt()
	p.end(t, exitFailed) // because of the resource that does not exist
	lines := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines for 3 events:\n%s", len(lines), p.out)
	}
	for _, line := range lines {
		var document map[string]any
		if err := json.Unmarshal([]byte(line), &document); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	golden.Check(t, *rewrite, "events.json", tidy(p.out.String()))
}

func TestObjectsAreNamedAndPrintedAsForKubectlGet(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"RESOURCE NAME":                     {[]string{"pod", "web-0"}, "ADDED     pods/web-0  shop/web-0  phase Pending\nMODIFIED  pods/web-0  shop/web-0  status.phase Pending→Running\n"},
		"RESOURCE NAME NAME, with -w":       {[]string{"po", "web-0", "none", "-w", "-o", "name"}, "pod/web-0\npod/web-0\n"},
		"RESOURCE/NAME":                     {[]string{"pods/web-0", "--watch", "-o", "jsonpath={.status.phase} "}, "Pending Running "},
		"one in another namespace, as YAML": {[]string{"pod/web-0", "-n", "shop", "-o", "yaml"}, ""},
		"RESOURCE/NAME, with a template":    {[]string{"pods/web-0", "--template", "{{.status.phase}} "}, "Pending Running "},
		"all, with their names":             {[]string{"pods", "--field-selector", "metadata.name=web-0", "-o", "name", "--show-initial=false"}, "pod/web-0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.put(pod("shop", "web-0", "Pending"))
			s.put(pod("shop", "other", "Pending"))
			p := start(t, append(kubeconfig(t, s.URL), append([]string{"watch"}, c.args...)...)...)
			p.err.wait(t, `1 object in namespace shop`)
			s.put(pod("shop", "other", "Running"))
			s.put(pod("shop", "web-0", "Running"))
			if c.want == "" {
				p.out.wait(t, `(?s)^---\napiVersion: v1\nkind: Pod\n.*phase: Pending\n---\napiVersion: v1\n.*phase: Running\n$`)
			} else {
				p.out.wait(t, strings.ReplaceAll(regexp.QuoteMeta(c.want), "\n", "\n.*")+`$`)
			}
			p.interrupt()
			p.end(t, exitOK)
			got := regexp.MustCompile(`\d\d:\d\d:\d\d  `).ReplaceAllString(p.out.String(), "")
			if strings.Contains(got, "other") || c.want != "" && got != c.want {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// TestEachObjectOfYAMLIsADocument is of the first objects of two resources, which come at
// the same time.
func TestEachObjectOfYAMLIsADocument(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Running"))
	s.put(deployment("shop", "web", 3))
	for range 10 {
		p := start(t, append(kubeconfig(t, s.URL), "watch", "pods,deployments", "--show-initial", "-o", "yaml")...)
		p.out.wait(t, `(?s)kind: (Pod.*kind: Deployment|Deployment.*kind: Pod)\n`)
		p.interrupt()
		p.end(t, exitOK)
		if n := strings.Count("\n"+p.out.String(), "\n---\napiVersion: "); n != 2 {
			t.Fatalf("%d documents of 2 objects:\n%s", n, p.out)
		}
	}
}

func TestForEndsWithASummaryAndSuccess(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Running"))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods", "--for", "1s")...)
	p.end(t, exitOK)
	if p.out.String() != "" {
		t.Errorf("nothing changed, yet stdout has %s", p.out)
	}
	golden.Check(t, *rewrite, "for.txt", tidy(p.err.String()))
}

func TestWrongCommandLinesSayWhatToTypeInstead(t *testing.T) {
	s := newAPIServer(t)
	flags := kubeconfig(t, s.URL)
	malformed := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(malformed, []byte("apiVersion: v1\nkind: Config\nclusters: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"watch"}, exitUsage},
		{[]string{"watch", "pods,", "deployments"}, exitUsage},
		{[]string{"watch", "pods", "db,web"}, exitUsage},
		{[]string{"watch", "pods/web-0", "deployments"}, exitUsage},
		{[]string{"watch", "pods/shop/web-0"}, exitUsage},
		{[]string{"watch", "pods/", "-o", "yaml"}, exitUsage},
		{[]string{"watch", "pods", "web-0", "-A"}, exitUsage},
		{[]string{"watch", "pods/web-0", "-l", "a=b"}, exitUsage},
		{[]string{"watch", "pods", "-o", "yml"}, exitUsage},
		{[]string{"watch", "pods", "-l", "a in b"}, exitUsage},
		{[]string{"watch", "pods", "--field-selector", "name"}, exitUsage},
		{[]string{"watch", "pods", "--for", "-1s"}, exitUsage},
		{[]string{"watch", "pods", "--nonsense"}, exitUsage},
		{[]string{"pods"}, exitUsage},
		{[]string{"get", "pods"}, exitUsage},
		{[]string{"get", "po", "-A", "-o", "yaml"}, exitUsage},
		{[]string{"wacth", "pods"}, exitUsage},
		{[]string{"version", "1"}, exitFailed},
		{append(flags, "watch", "podz"), exitFailed},
		{append(flags, "watch", "bindings"), exitFailed},
		{append(flags, "watch", "writable"), exitFailed},
		{append(flags, "watch", "podz,deploymet"), exitFailed},
		{append(flags, "watch", "pods", "--context", "play"), exitFailed},
		{[]string{"watch", "pods", "--kubeconfig", malformed}, exitFailed},
		{[]string{"watch", "pods", "--kubeconfig", filepath.Join(t.TempDir(), "kubeconfig")}, exitFailed},
	} {
		p := start(t, c.args...)
		p.end(t, c.code)
		if p.out.String() != "" {
			t.Errorf("%q: stdout has %s", c.args, p.out)
		}
		shown := strings.Join(c.args, " ")
		shown = strings.TrimPrefix(shown, strings.Join(flags, " ")+" ")
		b.WriteString(tidy("$ kinglet " + shown + "\n" + p.err.String()))
	}
	golden.Check(t, *rewrite, "wrong.txt", b.String())
}

func TestNoPasswordOfTheServersAddressIsShown(t *testing.T) {
	for _, address := range []string{"https://ann:hunter2@127.0.0.1:1", "https://ann:hunter2@127.0.0.1:x", "https://ann:hun/ter2@127.0.0.1:1", "http://hunter2:hunter2@:%zz"} {
		p := start(t, append(kubeconfig(t, "http://127.0.0.1:1"), "watch", "pods", "--server", address)...)
		p.err.wait(t, "error: ")
		p.end(t, exitFailed)
		if text := p.err.String() + p.out.String(); strings.Contains(text, ":hun") || strings.Contains(text, "ter2@") {
			t.Errorf("%s: %s", address, text)
		}
	}
}

func TestAKubeconfigWithoutAClusterIsNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "watch", "pods", "--kubeconfig", empty)
	p.end(t, exitFailed)
	if want := "error: no cluster is configured: the kubeconfig " + empty + " has none\n"; p.err.String() != want {
		t.Errorf("got %s, want %s", p.err, want)
	}
}

func TestAServerThatIsNotThereIsAnErrorAtOnce(t *testing.T) {
	s := newAPIServer(t)
	s.stop()
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods,deployments")...)
	p.end(t, exitFailed)
	golden.Check(t, *rewrite, "refused.txt", tidy(p.err.String()))
}

// The discovery of an earlier run is kept in a file.
func TestAResourceIsFoundAsSoonAsItIsInstalled(t *testing.T) {
	s := newAPIServer(t)
	s.put(deployment("shop", "web", 1))
	var installed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" && !installed.Load() {
			writeJSON(w, http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	flags := append(kubeconfig(t, server.URL), "--cache-dir", t.TempDir(), "watch", "--for", "500ms", "-o", "name")
	start(t, append(flags, "pods")...).end(t, exitOK)
	installed.Store(true)
	p := start(t, append(flags, "deployments.apps")...)
	p.end(t, exitOK)
	if p.out.String() != "deployment.apps/web\n" {
		t.Errorf("stdout has %q", p.out)
	}
}

// What hangs is abandoned, so it is a process of its own that has to end.
func TestWhateverHangsEnds(t *testing.T) {
	const args = "KINGLET_TEST_ARGS"
	if line := os.Getenv(args); line != "" {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // an interrupt
		defer cancel()
		os.Exit(Run(ctx, strings.Fields(line), Streams{Out: os.Stdout, Err: os.Stderr}))
	}
	s := newAPIServer(t)
	for i := range 200 { // more than a pipe takes
		s.put(pod("shop", fmt.Sprint(strings.Repeat("x", 200), i), "Running"))
	}
	end := func(flags ...string) string {
		unread, stdout, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer unread.Close()
		defer stdout.Close()
		var said bytes.Buffer
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), args+"="+strings.Join(append(append(kubeconfig(t, s.URL), "--cache-dir", t.TempDir(), "watch", "pods"), flags...), " "))
		cmd.Stdout, cmd.Stderr = stdout, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed {
			t.Errorf("%v: %s", err, &said)
		}
		return said.String()
	}
	end("-o", "yaml") // a write that nobody reads, by an interrupt
	hang := make(chan struct{})
	defer close(hang)
	s.refuseWith(func(*http.Request) *apierrors.StatusError { <-hang; return nil })
	if said := end("--for", "500ms"); !strings.Contains(said, "has not answered as long as --for said") { // discovery
		t.Error(said)
	}
}

// refusal makes an error of some requests.
func refusal(err *apierrors.StatusError, path string) func(*http.Request) *apierrors.StatusError {
	return func(r *http.Request) *apierrors.StatusError {
		if strings.HasPrefix(r.URL.Path, path) {
			return err
		}
		return nil
	}
}

func TestExpiredCredentialsAreAnErrorAtOnce(t *testing.T) {
	for name, path := range map[string]string{"of everything": "/", "of the resource, after discovery was allowed": "/api/v1/namespaces"} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.refuseWith(refusal(apierrors.NewUnauthorized("Unauthorized"), path))
			p := start(t, append(kubeconfig(t, s.URL), "watch", "pods")...)
			p.end(t, exitFailed)
			golden.Check(t, *rewrite, "unauthorized.txt", tidy(p.err.String()))
		})
	}
}

func forbiddenSecrets() *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "",
		errors.New(`User "ann" cannot list resource "secrets" in API group "" at the cluster scope`))
}

func TestOfTwoResourcesOneForbiddenTheOtherGoesOn(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Pending"))
	s.refuseWith(refusal(forbiddenSecrets(), secretsPath))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods,secrets", "-A")...)
	p.err.wait(t, `pods: 1 object`)
	p.err.wait(t, `secrets: forbidden`)
	s.put(pod("shop", "web-0", "Running"))
	p.out.wait(t, `status.phase Pending→Running`)
	p.interrupt()
	p.end(t, exitFailed)
	if got := strings.Count(p.err.String(), "secrets: forbidden"); got != 1 {
		t.Errorf("the error is shown %d times:\n%s", got, p.err)
	}
	p.err.wait(t, `kubectl auth can-i list secrets --all-namespaces`)
	p.err.wait(t, `error: 1 of 2 resources never synced: secrets \(forbidden\)`)
}

func TestAllResourcesForbiddenIsAnErrorAtOnce(t *testing.T) {
	s := newAPIServer(t)
	s.refuseWith(refusal(forbiddenSecrets(), secretsPath))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "secrets", "-A")...)
	p.end(t, exitFailed)
	golden.Check(t, *rewrite, "forbidden.txt", tidy(p.err.String()))
}

func TestAServerThatGoesAwayAndReturnsIsToldOnceEach(t *testing.T) {
	s := newAPIServer(t)
	s.put(pod("shop", "web-0", "Pending"))
	p := start(t, append(kubeconfig(t, s.URL), "watch", "pods")...)
	p.err.wait(t, `pods: 1 object`)
	s.refuseWith(refusal(apierrors.NewServiceUnavailable("starting"), "/api"))
	s.CloseClientConnections()
	p.err.wait(t, `error: pods: the server fails \(503\): starting`)
	s.refuseWith(nil)
	s.put(pod("shop", "web-0", "Running"))
	p.err.wait(t, `pods: works again after`)
	p.out.wait(t, `status.phase Pending→Running`)
	p.interrupt()
	p.end(t, exitOK)
	if got := strings.Count(p.err.String(), "error: "); got != 1 {
		t.Errorf("%d errors are shown:\n%s", got, p.err)
	}
}

func TestNobodyReadingStdoutEndsItQuietlyAndAFullDiskIsAnError(t *testing.T) {
	for _, c := range []struct {
		err  syscall.Errno
		code int
		want string
	}{
		{syscall.EPIPE, exitOK, `^$`},
		{syscall.ENOSPC, exitFailed, `error: write to stdout: .*no space left on device`},
	} {
		s := newAPIServer(t)
		p := start(t, append(kubeconfig(t, s.URL), "watch", "pods")...)
		p.err.wait(t, `pods: 0 objects`)
		before := p.err.String()
		p.out.mu.Lock()
		p.out.fail = &os.PathError{Op: "write", Path: "stdout", Err: c.err}
		p.out.mu.Unlock()
		s.put(pod("shop", "web-0", "Running"))
		p.end(t, c.code)
		if said := strings.TrimPrefix(p.err.String(), before); !regexp.MustCompile(c.want).MatchString(said) {
			t.Errorf("after %v it said: %s", c.err, said)
		}
	}
}

func TestCompletionKnowsResourcesAndContexts(t *testing.T) {
	s := newAPIServer(t)
	flags := kubeconfig(t, s.URL)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"po"}, "pods\n"},
		{[]string{"pods,dep"}, "pods,deployments.apps\n"},
		{[]string{"--context", ""}, "work\n"},
		{[]string{"pods", "-o", ""}, "wide\njson\nyaml\nname\n"},
	} {
		args := append([]string{"__complete", "watch"}, flags...)
		p := start(t, append(args, c.args...)...)
		p.end(t, exitOK)
		if got, _, _ := strings.Cut(p.out.String(), ":"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
	}
}

func TestCompletionKnowsEveryContextAndAnErrorNamesTheFirst(t *testing.T) {
	var others []string
	for c := 'a'; c <= 'm'; c++ {
		others = append(others, string(c))
	}
	flags := kubeconfig(t, "http://127.0.0.1:1", others...)
	p := start(t, append(append([]string{"__complete", "watch"}, flags...), "--context", "")...)
	p.end(t, exitOK)
	want := strings.Join(append(others, "work"), "\n") + "\n"
	if got, _, _ := strings.Cut(p.out.String(), ":"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p = start(t, append(flags, "watch", "pods", "--context", "z")...)
	p.end(t, exitFailed)
	p.err.wait(t, `"z".*; the kubeconfig has: a, b, c, d, e, f, g, h, i, j, …`)
}

func TestVersionNamesWhatItIsMadeOf(t *testing.T) {
	p := start(t, "version")
	p.end(t, exitOK)
	p.out.wait(t, `(?m)^kinglet .*\ngo\d.*\nclient-go `)
}

func TestOnlyATerminalHasColoursAndAWidth(t *testing.T) {
	s := Streams{Out: &strings.Builder{}}
	if s.colors() || s.width() != 0 {
		t.Error("a buffer has them")
	}
}

// A printer quotes the object in its errors.
func TestNothingOfASecretIsInTheErrorOfATemplate(t *testing.T) {
	s := newAPIServer(t)
	s.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Data: map[string][]byte{"k": []byte("hunter2")}})
	p := start(t, append(kubeconfig(t, s.URL), "watch", "secrets", "--show-initial", "--for", "1s", "-o", "jsonpath={.a}", "--allow-missing-template-keys=false")...)
	<-p.code
	if text := p.err.String(); strings.Contains(text, "map[") || !strings.Contains(text, "shop/db cannot be written: the error is not shown") {
		t.Errorf("printed %s", text)
	}
}
