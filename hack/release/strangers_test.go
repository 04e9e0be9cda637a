package release

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// strangers are programs that have nothing of this repository but what documents tell
// them to require, each of another version of Kubernetes. testdata has their sources.
var strangers = []struct {
	name       string
	kubernetes string
	// require is what they require before, with go get.
	require []string
	// docs is the document whose commands they run. One of migration.md is written for
	// client-go first.
	docs string
}{
	{name: "typed", kubernetes: "0.34", require: []string{"k8s.io/api@v0.34.0", "k8s.io/client-go@v0.34.0"}, docs: "README.md"},
	{name: "dropin", kubernetes: "0.36", require: []string{"sigs.k8s.io/controller-runtime@v0.24.1", "k8s.io/api@v0.36.0", "k8s.io/client-go@v0.36.0"}, docs: "docs/migration.md"},
	{name: "generic", kubernetes: "0.37", require: []string{"k8s.io/api@v0.37.2", "k8s.io/client-go@v0.37.2"}, docs: "docs/migration.md"},
}

// stranger is what all strangers of a run share: see Stranger.
var stranger struct {
	once sync.Once
	work string
	env  []string
	err  error
}

// strangersWork returns the folder of the strangers' programs, and strangersEnv the
// environment of their go command.
func strangersWork(t *testing.T) string {
	t.Helper()
	stranger.once.Do(func() {
		var repository string
		if repository, stranger.err = filepath.Abs("../.."); stranger.err != nil {
			return
		}
		if stranger.work, stranger.err = os.MkdirTemp("", "strangers"); stranger.err != nil {
			return
		}
		stranger.env, stranger.err = Stranger(repository, stranger.work)
	})
	must(t, stranger.err)
	return stranger.work
}

func strangersEnv(t *testing.T) []string {
	t.Helper()
	strangersWork(t)
	return slices.Clone(stranger.env)
}

// TestAProgramKeepsItsKubernetesAndWorks for each of the strangers: after the commands of
// a document and go mod tidy, each of its modules of Kubernetes has the version that it
// had, it builds, and it sees what happens on a server.
func TestAProgramKeepsItsKubernetesAndWorks(t *testing.T) {
	work, env := strangersWork(t), strangersEnv(t)
	for _, s := range strangers {
		t.Run(s.name, func(t *testing.T) {
			dir := filepath.Join(work, s.name)
			must(t, os.MkdirAll(dir, 0o755))
			mod, main := filepath.Join(dir, "go.mod"), filepath.Join(dir, "main.go")
			must(t, os.WriteFile(mod, []byte("module example.com/"+s.name+"\n\ngo 1.25.0\n"), 0o644))
			must(t, os.WriteFile(main, []byte("package main\n"), 0o644))
			must(t, run(dir, env, append([]string{"get"}, s.require...)...))
			source := read(t, filepath.Join("testdata", s.name+".go.txt"))
			if s.docs == "docs/migration.md" {
				must(t, os.WriteFile(main, []byte(strings.ReplaceAll(source, Path+"/cache", "k8s.io/client-go/tools/cache")), 0o644))
				must(t, run(dir, env, "mod", "tidy"))
			}
			before := ofKubernetes(t, mod)
			script := commands(t, s.docs, s.kubernetes)
			cmd := exec.Command("bash", "-ec", script)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s\n%v\n%s", script, err, out)
			}
			if s.docs != "docs/migration.md" {
				must(t, os.WriteFile(main, []byte(source), 0o644))
			} else if changed := read(t, main); !strings.Contains(changed, Path+"/cache") || strings.Contains(changed, "k8s.io/client-go/tools/cache") {
				t.Errorf("%s\nhas made of the program\n%s", script, changed)
			} else {
				// One of them keeps client-go's package beside it, under another name.
				must(t, os.WriteFile(main, []byte(source), 0o644))
			}
			must(t, run(dir, env, "mod", "tidy"))
			after := ofKubernetes(t, mod)
			for path, version := range after {
				if was, required := before[path]; required && was != version || !strings.HasPrefix(version, "v"+s.kubernetes+".") {
					t.Errorf("%s is %s after %sand go mod tidy; it was %q", path, version, script, was)
				}
			}
			if len(after) < 3 {
				t.Errorf("only %v are required", after)
			}
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

// ofKubernetes returns the versions of the modules of Kubernetes that a go.mod requires.
func ofKubernetes(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := modfile.Parse(file, []byte(read(t, file)), nil)
	must(t, err)
	versions := map[string]string{}
	for _, r := range f.Require {
		if OfKubernetes(r.Mod.Path) {
			versions[r.Mod.Path] = r.Mod.Version
		}
	}
	return versions
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
