package release

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// strangers are programs that have nothing of this repository but what they
// require, each of another version of Kubernetes. testdata has their sources.
var strangers = []struct {
	name       string
	kubernetes string
	// require is what else they ask for, with go get.
	require []string
}{
	{name: "typed", kubernetes: "0.34", require: []string{Path + "@v0.1.0", "k8s.io/api@v0.34.0", "k8s.io/client-go@v0.34.0"}},
	{name: "dropin", kubernetes: "0.36", require: []string{Path + "/cache@v0.36.0", "sigs.k8s.io/controller-runtime@v0.24.1", "k8s.io/api@v0.36.0", "k8s.io/client-go@v0.36.0"}},
	{name: "generic", kubernetes: "0.37", require: []string{Path + "/cache@v0.37.0", "k8s.io/api@v0.37.2", "k8s.io/client-go@v0.37.2"}},
}

// TestAProgramKeepsItsKubernetesAndWorks for each of the strangers: with what it
// requires tidied, its Kubernetes is of the minor that it asked for, it builds,
// and it sees what happens on a server.
func TestAProgramKeepsItsKubernetesAndWorks(t *testing.T) {
	work := t.TempDir()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	env, err := Stranger(repository, work)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strangers {
		t.Run(s.name, func(t *testing.T) {
			dir := filepath.Join(work, s.name)
			source, err := os.ReadFile(filepath.Join("testdata", s.name+".go.txt"))
			if err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{
				"go.mod":  "module example.com/" + s.name + "\n\ngo 1.25.0\n",
				"main.go": string(source),
			} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			must(t, run(dir, env, append([]string{"get"}, s.require...)...))
			must(t, run(dir, env, "mod", "tidy"))
			keeps(t, filepath.Join(dir, "go.mod"), s.kubernetes)
			must(t, run(dir, env, "build", "-o", s.name, "."))
			works(t, filepath.Join(dir, s.name))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keeps fails if a go.mod requires a module of Kubernetes of another minor.
func keeps(t *testing.T, file, minor string) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	f, err := modfile.Parse(file, b, nil)
	must(t, err)
	n := 0
	for _, r := range f.Require {
		if !OfKubernetes(r.Mod.Path) {
			continue
		}
		n++
		if !strings.HasPrefix(r.Mod.Version, "v"+minor+".") {
			t.Errorf("%s is %s after go mod tidy, want one of %s", r.Mod.Path, r.Mod.Version, minor)
		}
	}
	if n < 3 {
		t.Errorf("%d modules of Kubernetes are required:\n%s", n, b)
	}
}

// works runs a program against a server and looks at what it prints.
func works(t *testing.T, program string) {
	t.Helper()
	storage := apiserver.NewStorage(apiserver.Pods)
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	for _, name := range []string{"a", "b"} {
		_, err := storage.Create(pod(name))
		must(t, err)
	}
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	config, err := server.Listen("127.0.0.1:0")
	must(t, err)

	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "SERVER="+config.Host)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	timeout := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()
	var lines []string
	for in := bufio.NewScanner(out); in.Scan(); {
		lines = append(lines, in.Text())
		if strings.HasPrefix(in.Text(), "synced") {
			_, err := storage.Create(pod("c"))
			must(t, err)
			changed := pod("a")
			changed.Labels = map[string]string{"changed": "yes"}
			_, err = storage.Update(changed)
			must(t, err)
			_, err = storage.Delete(corev1.Resource("pods"), types.NamespacedName{Namespace: "default", Name: "b"}, nil)
			must(t, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
	want := []string{"synced with 2 pods", "added c", "updated a", "deleted b"}
	if !slices.Equal(lines, want) {
		t.Errorf("it printed\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
