package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// hookTest is added to the package under test, whose name stands first; init sets the
// hooks.
const hookTest = `package %s_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func init() { %s }

func TestTheCacheIsKinglets(t *testing.T) {
	c, err := cache.New(&rest.Config{}, cache.Options{Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := c.(*ctrlruntime.Cache); !is {
		t.Errorf("it is a %%T", c)
	}
}
`

// defaultsTest is added where the defaults are to be kinglet's.
const defaultsTest = `package %s_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	internal "sigs.k8s.io/controller-runtime/pkg/internal/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestTheDefaultsAreKinglets(t *testing.T) {
	c, err := cluster.New(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := controller.NewUnmanaged("kinglet", controller.Options{Reconciler: reconcile.Func(nil)})
	if err != nil {
		t.Fatal(err)
	}
	queue := made.(*internal.Controller[reconcile.Request]).NewQueue("kinglet", nil)
	defer queue.ShutDown()
	for _, has := range []any{c.GetCache(), c.GetClient(), queue} {
		if name := fmt.Sprintf("%%T", has); !strings.HasPrefix(name, "*ctrlruntime.") {
			t.Errorf("one is a %%s", name)
		}
	}
}
`

// An edit of a file of controller-runtime's, by the overlay: each of its texts is in the
// file once, and becomes the one after it.
type edit struct {
	file  string
	texts []string
	whole string // if it is not empty, the file is this
}

// The edits that have controller-runtime use module ctrlruntime.
var (
	hookedCache = edit{file: "pkg/cache/cache.go", texts: []string{
		"func New(cfg *rest.Config, opts Options) (Cache, error) {\n",
		"// Hook makes what New returns.\nvar Hook NewCacheFunc\n\nfunc New(cfg *rest.Config, opts Options) (Cache, error) {\n" +
			"\tif Hook != nil && opts.NewInformer == nil {\n\t\treturn Hook(cfg, opts)\n\t}\n",
	}}
	// A client that is to read its own writes is ours, which asks for one that is not.
	hookedClient = edit{file: "pkg/client/client.go", texts: []string{
		"func New(config *rest.Config, options Options) (Client, error) {\n",
		"// Hook makes what New returns.\nvar Hook NewClientFunc\n\nfunc New(config *rest.Config, options Options) (Client, error) {\n" +
			"\tif Hook != nil && options.Cache != nil && ptr.Deref(options.Cache.EnableReadYourWritesConsistency, false) {\n\t\treturn Hook(config, options)\n\t}\n",
	}}
	// The defaults of managers and clusters, and of controllers. That of caches is
	// cache.New.
	hookedDefaults = []edit{
		{file: "pkg/cluster/cluster.go", texts: []string{
			"\t\"sigs.k8s.io/controller-runtime/pkg/cache\"\n", "\t\"github.com/kinglet-go/kinglet/ctrlruntime\"\n\t\"sigs.k8s.io/controller-runtime/pkg/cache\"\n",
			"options.NewClient = client.New\n", "options.NewClient = ctrlruntime.NewClient\n",
		}},
		{file: "pkg/controller/controller.go", texts: []string{
			"\"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue\"\n", "\"github.com/kinglet-go/kinglet/ctrlruntime\"\n",
			"return priorityqueue.New(controllerName, func(o *priorityqueue.Opts[request]) {\n" +
				"\t\t\t\t\to.Log = options.Logger.WithValues(\"controller\", controllerName)\n" +
				"\t\t\t\t\to.RateLimiter = rateLimiter\n\t\t\t\t})\n",
			"return ctrlruntime.QueueOptions[request]{}.NewQueue(controllerName, rateLimiter)\n",
		}},
	}
)

// apply returns the file's text below dir with the edit.
func (e edit) apply(dir string) (string, error) {
	if e.whole != "" {
		return e.whole, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, e.file))
	if err != nil {
		return "", err
	}
	edited := string(text)
	for i := 0; i < len(e.texts); i += 2 {
		if n := strings.Count(edited, e.texts[i]); n != 1 {
			return "", fmt.Errorf("%s has this %d times: %q", e.file, n, e.texts[i])
		}
		edited = strings.Replace(edited, e.texts[i], e.texts[i+1], 1)
	}
	return edited, nil
}

// edits are those of a suite, and the code that sets their hooks.
func (s *suite) edits() (all []edit, set string) {
	all = []edit{hookedCache}
	set = "cache.Hook = ctrlruntime.NewCache"
	if s.client {
		all = append(all, hookedClient)
		set += "; client.Hook = ctrlruntime.NewClient"
	}
	if s.defaults {
		all = append(all, hookedDefaults...)
	}
	return all, set
}

// readyHooked has a suite of controller-runtime's ready to run over module ctrlruntime.
func readyHooked(ctx context.Context, dir string, s suite, opts options) (rs *ready, err error) {
	if opts.clientGo {
		return nil, errors.New("-client-go is of the other suites")
	}
	rs = &ready{suite: s, specs: map[string]string{s.packages[0]: s.specs}}
	if rs.runner, err = newHooked(ctx, filepath.Join(dir, "hooked", s.hooked), s); err != nil {
		return nil, err
	}
	// The other tests of pkg/cache are of what New does not use any more.
	names := append([]string{s.specs, "TestTheCacheIsKinglets"}, s.beside...)
	if s.defaults {
		names = append(names, "TestTheDefaultsAreKinglets")
	}
	if s.queue {
		more, err := testsOfQueue(rs.runner.dir)
		if err != nil {
			return nil, err
		}
		names = append([]string{s.specs}, more...)
	}
	for _, name := range names {
		rs.tests = append(rs.tests, testName{pkg: s.packages[0], test: name})
	}
	return rs, nil
}

// newHooked copies controller-runtime to dir, as it is, and returns what runs its tests
// with the overlay.
func newHooked(ctx context.Context, dir string, s suite) (r runner, err error) {
	var module struct{ Dir string }
	download := goCommand(ctx, "mod", "download", "-json", "sigs.k8s.io/controller-runtime@"+s.hooked)
	if err := runGo(ctx, download, func(out io.Reader) error { return json.NewDecoder(out).Decode(&module) }); err != nil {
		return r, err
	}
	r.dir = filepath.Join(dir, "controller-runtime")
	if err := copyTree(module.Dir, r.dir); err != nil {
		return r, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "overlay"), 0o777); err != nil {
		return r, err
	}
	replaced := map[string]string{}
	replace := func(name, text string) error {
		from := filepath.Join(dir, "overlay", strings.ReplaceAll(name, "/", "_"))
		replaced[filepath.Join(r.dir, filepath.FromSlash(name))] = from
		return write(from, []byte(text))
	}
	edits, set := s.edits()
	for _, e := range edits {
		text, err := e.apply(r.dir)
		if err == nil {
			err = replace(e.file, text)
		}
		if err != nil {
			return r, err
		}
	}
	if s.queue {
		err = copyQueue(r.dir, dir, replaced)
	} else {
		folder := strings.TrimPrefix(s.packages[0], controllerRuntime)
		tested := path.Base(folder)
		test := fmt.Sprintf(hookTest, tested, set)
		if s.client {
			test = strings.Replace(test, "pkg/cache\"\n", "pkg/cache\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n", 1)
		}
		err = replace(folder+"/kinglet_test.go", test)
		if s.defaults {
			err = errors.Join(err, replace(folder+"/kingletdefaults_test.go", fmt.Sprintf(defaultsTest, tested)))
		}
	}
	if err != nil {
		return r, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return r, err
	}
	if err := write(filepath.Join(dir, "overlay.json"), overlay); err != nil {
		return r, err
	}
	r.flags = []string{"-overlay=" + filepath.Join(dir, "overlay.json"), "-mod=mod"}
	r.modfile, err = hookedModfile(ctx, dir, r.dir, s.line)
	return r, err
}

// hookedModfile writes controller-runtime's go.mod with kinglet's modules.
func hookedModfile(ctx context.Context, dir, module, line string) (string, error) {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	kinglets, err := replaceKinglet(ctx, dir, line)
	if err != nil {
		return "", err
	}
	text = append(fmt.Appendf(text, "\nrequire %s v0.1.0\n", kingletCtrlruntime), kinglets...)
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	modfile := filepath.Join(dir, "kinglet.mod")
	return modfile, errors.Join(write(modfile, text), write(filepath.Join(dir, "kinglet.sum"), sum))
}

// replaceKinglet returns the lines of a go.mod that have kinglet's modules from the
// repository, and module cache, if the line is not the repository's, from a copy below dir.
func replaceKinglet(ctx context.Context, dir, line string) (text []byte, err error) {
	top, err := repository()
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(top, "cache")
	if line != "" {
		cmd := exec.CommandContext(ctx, "go", "run", "-C", filepath.Join(top, "hack"), "./release/line", "cache", line)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("the line %s of module cache: %w", line, err)
		}
		made := strings.TrimSpace(string(out))
		cache = filepath.Join(dir, "cache")
		// Not over an older copy, which may have files that are gone.
		if err := errors.Join(os.RemoveAll(cache), copyTree(made, cache), os.RemoveAll(made)); err != nil {
			return nil, err
		}
	}
	for name, folder := range map[string]string{
		"": top, "/cache": cache, "/ctrlruntime": filepath.Join(top, "ctrlruntime"),
		"/workqueue": filepath.Join(top, "workqueue"), "/kinglettest": filepath.Join(top, "kinglettest"),
	} {
		text = fmt.Appendf(text, "replace github.com/kinglet-go/kinglet%s => %q\n", name, folder)
	}
	return text, nil
}

// copyTree makes to a copy of a folder.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(to, rel), text)
	})
}
