package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An operator is a module whose own tests run over kinglet, as they are.
type operator struct {
	name, module, version string
	folders               []string       // of the module; packages below them that have tests run
	without               *regexp.Regexp // import paths of packages that do not
	cluster               bool           // each package needs a control plane
	// edits are for the control plane, with kinglet and without. ways have module
	// ctrlruntime used, beyond the imports that are swapped.
	edits   []edit
	ways    []way
	started *started // a program of its, for -starts
}

type way struct {
	name   string
	edits  []edit
	starts bool // for -starts alone
}

var importCtrlruntime = []string{
	"\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n",
	"\t\"github.com/kinglet-go/kinglet/ctrlruntime\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n",
}

// The cached client of Karpenter's test environment, and kinglet's.
const (
	karpenterOptions = "(environment.Config, client.Options{Scheme: scheme.Scheme, Cache: &client.CacheOptions{Reader: cache}})"
	karpenterClient  = "client.New" + karpenterOptions
	kingletClient    = "ctrlruntime.NewClient" + karpenterOptions
)

// karpenter is the edit of Karpenter's test environment that makes its caches kinglet's,
// and its cached client what the arguments say.
func karpenter(from, to string) []edit {
	return []edit{{file: "pkg/test/environment.go", texts: slices.Concat(importCtrlruntime,
		[]string{"lo.Must(cache.New(", "lo.Must(ctrlruntime.NewCache(", from, to})}}
}

// kedaCache keeps the fields of pods that the comment of KEDA's transform lists, and replaces
// the transform.
const kedaCache = `		NewCache: ctrlruntime.Options{StripManagedFields: true, ByObject: map[client.Object]ctrlruntime.ByObject{
			&corev1.Pod{}: {Keep: []string{"spec.nodeName", "status.phase", "status.conditions"}},
		}}.NewCache,
		NewClient: ctrlruntime.NewClient,
`

var importKedaCache = append(slices.Clone(importCtrlruntime),
	"\tctrl \"sigs.k8s.io/controller-runtime\"\n", "\tcorev1 \"k8s.io/api/core/v1\"\n\tctrl \"sigs.k8s.io/controller-runtime\"\n")

var operators = []operator{
	{
		name: "cert-manager", module: "github.com/cert-manager/cert-manager", version: "v1.21.2",
		folders: []string{"pkg/controller", "internal/controller"},
		// Not every proxy serves the client of Venafi, a service for certificates. The
		// test of configfile imports every issuer.
		without: regexp.MustCompile(`/venafi$|/pkg/controller/configfile$`),
		edits:   []edit{added("internal/started/main.go", "main.go")},
		ways:    []way{{}, {name: "/ondemand", starts: true, edits: []edit{added("internal/informers/core_filteredsecrets.go", "secrets.go")}}},
		started: startedCertManager,
	},
	{
		name: "karpenter", module: "sigs.k8s.io/karpenter", version: "v1.15.0",
		// Those whose client has a cache.
		folders: []string{"pkg/controllers/capacitybuffer", "pkg/controllers/node", "pkg/controllers/nodeclaim", "pkg/utils/node", "pkg/utils/nodeclaim", "pkg/utils/pdb"},
		cluster: true,
		ways: []way{
			// The tests' client asks after each write, until the cache has it, a hundred times.
			{name: "/polling", edits: karpenter(karpenterClient, kingletClient)},
			// It asks once: that read has to see the write.
			{name: "/once", edits: append(karpenter(karpenterClient, kingletClient),
				edit{file: "pkg/test/cachesyncingclient.go", texts: []string{"Steps:    100,", "Steps: 1,"}})},
			// And without that client.
			{edits: karpenter("&CacheSyncingClient{\n\t\t\tClient: lo.Must("+karpenterClient+"),\n\t\t}\n",
				"lo.Must("+kingletClient+")\n")},
		},
	},
	{
		name: "cluster-api", module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		folders: []string{"controllers/clustercache", "core/reconcilers/clusterresourceset", "core/reconcilers/machinehealthcheck", "core/reconcilers/machineset"},
		cluster: true,
		// envtest's users have a certificate, and a slash after the port.
		edits: []edit{{file: "util/kubeconfig/testing.go", texts: []string{
			"cfg.Host,", "cfg.Host + \"/\",", "ClientKeyData: ", "Token: cfg.BearerToken,\n\t\t\t\tClientKeyData: "}}},
		ways: []way{{edits: []edit{
			{file: "internal/test/envtest/environment.go", texts: append(slices.Clone(importCtrlruntime),
				"options := manager.Options{\n", "options := manager.Options{\n\t\tNewCache:  ctrlruntime.NewCache,\n\t\tNewClient: ctrlruntime.NewClient,\n")},
			{file: "controllers/clustercache/cluster_accessor_client.go", texts: append(slices.Clone(importCtrlruntime),
				"ctrlcache.New(configWith11mTimeout,", "ctrlruntime.NewCache(configWith11mTimeout,",
				"\tcachedClient, err := client.New(", "\tcachedClient, err := ctrlruntime.NewClient(")},
		}}},
	},
	{
		name: "keda", module: "github.com/kedacore/keda/v2", version: "v2.21.0",
		// Those that read what a cache holds; scalers ask services outside.
		folders: []string{"controllers", "pkg/scaling/executor", "pkg/eventemitter", "pkg/util"},
		cluster: true,
		started: startedKeda,
		ways: []way{{edits: []edit{
			{file: "cmd/operator/main.go", texts: append(slices.Clone(importKedaCache),
				"\t\t\tDefaultTransform:  kedautil.CacheObjectTransform,\n", "",
				"\t\tScheme: scheme,\n", "\t\tScheme: scheme,\n"+kedaCache)},
			{file: "controllers/keda/suite_test.go", texts: append(slices.Clone(importKedaCache),
				"\t\tScheme: scheme.Scheme,\n\t})\n", "\t\tScheme: scheme.Scheme,\n"+kedaCache+"\t})\n")},
		}}},
	},
}

// operatorSuites returns a suite of each operator without kinglet, and one for each way
// to have it.
func operatorSuites() (all []suite) {
	for _, o := range operators {
		plain := suite{name: "operators/" + o.name + "/plain", operator: &o, cluster: o.cluster, plain: true, copied: o.edits}
		all = append(all, plain)
		for _, w := range o.ways {
			s := plain
			s.name, s.plain, s.starts, s.copied = "operators/"+o.name+w.name, false, w.starts, slices.Concat(o.edits, w.edits)
			all = append(all, s)
		}
	}
	return all
}

// readyOperator has a suite of an operator ready. Each package has a control plane of its
// own if it needs one, as with envtest.
func readyOperator(ctx context.Context, dir string, s suite, opts options) (rs *ready, unlock func(), err error) {
	if opts.clientGo {
		return nil, nil, fmt.Errorf("-client-go is of the other suites; operators/%s/plain is without kinglet", s.operator.name)
	}
	t, unlock, err := newOperatorTree(ctx, filepath.Join(dir, "operators"), &s, opts)
	if err != nil {
		return nil, nil, err
	}
	if rs, err = t.ready(ctx, s); err != nil {
		unlock()
		return nil, nil, err
	}
	rs.runner.flags = []string{"-ldflags=-s -w"} // linking takes longer than most of the tests
	return rs, unlock, nil
}

// newOperatorTree copies the operator with its edits, and the modules that it needs, and
// sets the suite's packages.
func newOperatorTree(ctx context.Context, dir string, s *suite, opts options) (_ *tree, unlock func(), err error) {
	dir = filepath.Join(dir, s.operator.name)
	if s.plain {
		dir += "-plain"
	}
	if unlock, err = lock(dir); err != nil {
		return nil, nil, err
	}
	t := &tree{
		dir: dir, pinned: filepath.Join(dir, "pinned.mod"), modfile: filepath.Join(dir, "go.mod"),
		clientGo: s.plain, needs: map[string]map[string]bool{},
	}
	if err := t.fillOperator(ctx, s, opts); err != nil {
		unlock()
		return nil, nil, err
	}
	return t, unlock, nil
}

func (t *tree) fillOperator(ctx context.Context, s *suite, opts options) error {
	o := s.operator
	m, err := o.download(ctx)
	if err != nil {
		return err
	}
	if err := t.copy(m, nil); err != nil {
		return err
	}
	copied := t.module(m)
	for _, e := range s.copied {
		text, err := e.apply(copied)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(copied, e.file)), 0o777)
		}
		if err == nil {
			err = write(filepath.Join(copied, e.file), []byte(text))
		}
		if err != nil {
			return err
		}
	}
	if s.packages, err = o.packages(copied); err != nil {
		return err
	}
	s.packages = slices.DeleteFunc(s.packages, func(p string) bool { return opts.pkg != nil && !opts.pkg.MatchString(p) })
	if len(s.packages) == 0 {
		return fmt.Errorf("no package matches -package %s", opts.pkg)
	}
	mod, err := t.pinOperator(ctx, o, copied, s.packages)
	if err != nil {
		return err
	}
	if s.plain {
		return write(t.modfile, mod)
	}
	return t.swapModules(ctx, mod, []suite{*s})
}

// download returns the operator's module as it is in the module cache. The go command
// puts it there even if its go.mod asks for a newer go, which is an error beside.
func (o *operator) download(ctx context.Context) (*goModule, error) {
	var cache string
	err := runGo(ctx, goCommand(ctx, "env", "GOMODCACHE"), func(out io.Reader) error {
		text, err := io.ReadAll(out)
		cache = strings.TrimSpace(string(text))
		return err
	})
	if err != nil {
		return nil, err
	}
	m := &goModule{Path: o.module, Version: o.version, Dir: filepath.Join(cache, filepath.FromSlash(o.module)+"@"+o.version)}
	err = runGo(ctx, goCommand(ctx, "mod", "download", o.module+"@"+o.version), func(out io.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	})
	if _, missing := os.Stat(m.Dir); missing != nil {
		return nil, errors.Join(err, missing)
	}
	return m, nil
}

// packages returns those of the operator's packages that have tests.
func (o *operator) packages(copied string) ([]string, error) {
	var all []string
	for _, folder := range o.folders {
		err := filepath.WalkDir(filepath.Join(copied, folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata") {
				return err
			}
			rel, err := filepath.Rel(copied, filepath.Dir(file))
			pkg := path.Join(o.module, filepath.ToSlash(rel))
			if !slices.Contains(all, pkg) && (o.without == nil || !o.without.MatchString(pkg)) {
				all = append(all, pkg)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// What the go.mod of an operator has that a module which requires it cannot have: a
// version of go that is newer by a patch, and modules in its own folders.
var (
	goLine  = regexp.MustCompile(`(?m)^(go 1\.26)\.\d+$`)
	folders = regexp.MustCompile(`(?m)^replace .* => \./.*$`)
)

const inFolder = "v0.0.0-00010101000000-000000000000"

// requirable returns the go.mod of an operator without these. Its version has been
// published for those folders as well.
func requirable(mod []byte, version string) []byte {
	mod = folders.ReplaceAll(goLine.ReplaceAll(mod, []byte("$1.0")), nil)
	return bytes.ReplaceAll(mod, []byte(inFolder), []byte(version))
}

// pinOperator makes the folder a module with the requirements of the operator's, which is
// replaced by its copy, and with kinglet's modules. It returns the text of its go.mod.
func (t *tree) pinOperator(ctx context.Context, o *operator, copied string, pkgs []string) ([]byte, error) {
	mod, err := os.ReadFile(filepath.Join(copied, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod = requirable(mod, o.version)
	if err := write(filepath.Join(copied, "go.mod"), mod); err != nil {
		return nil, err
	}
	kinglets, err := replaceKinglet(ctx, t.dir, "0.36")
	if err != nil {
		return nil, err
	}
	mod = bytes.Replace(mod, []byte("module "+o.module+"\n"), []byte("module operators\n"), 1)
	mod = fmt.Appendf(mod, "\nrequire %[1]s %[2]s\nreplace %[1]s => %[3]s\n", o.module, o.version, strconv.Quote(copied))
	mod = append(fmt.Appendf(mod, "require %s v0.1.0\n", kingletCtrlruntime), kinglets...)
	sum, err := os.ReadFile(filepath.Join(copied, "go.sum"))
	if err != nil {
		return nil, err
	}
	if err := t.writeModules(mod, sum); err != nil {
		return nil, err
	}
	// This adds what the operator's go.mod leaves out.
	args := []string{"list", "-mod=mod", "-modfile=" + t.pinned, "-deps", "-test", kingletCache, kingletQueue, kingletCtrlruntime}
	cmd := goCommand(ctx, append(args, pkgs...)...)
	cmd.Dir = t.dir
	err = runGo(ctx, cmd, func(out io.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	})
	if err != nil {
		return nil, err
	}
	mod, err1 := os.ReadFile(t.pinned)
	sum, err2 := os.ReadFile(filepath.Join(t.dir, "pinned.sum"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return mod, t.writeModules(mod, sum)
}
