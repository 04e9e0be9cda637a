package kinglettest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startTimeout bounds the start of the control plane, which takes three
	// seconds on an idle machine with two cores.
	startTimeout = 2 * time.Minute
	// buildTimeout bounds the first build of the program, which takes ten minutes on the
	// same machine with its downloads; later ones take a second.
	buildTimeout = 40 * time.Minute
	// abandonTimeout bounds the end of a program that does not work.
	abandonTimeout = 10 * time.Second
	// commandTimeout bounds one command, and the end of the program.
	commandTimeout = 90 * time.Second
)

// ClusterOptions configure StartCluster. The zero value is a control plane with
// one node and nothing on it.
type ClusterOptions struct {
	Nodes int // simulated; 0 means 1

	// Deployments of Replicas pods each are kept, and changed Churn times a
	// second. Replicas 0 means 3.
	Deployments int
	Replicas    int
	Churn       float64

	// FeatureGates of the components, by name.
	FeatureGates map[string]bool

	// DisableAdmissionPlugins names admission plugins of the API server to disable.
	// Without ServiceAccount, pods can be created in a namespace that has no service
	// account, as with envtest.
	DisableAdmissionPlugins []string

	// Dir is where the cluster's data stays after its end, so that another cluster can
	// start with it. If empty, the data is in a temporary folder.
	Dir string

	// Program is the path of a kinglet-cluster binary. If empty, it is built into the
	// user's cache folder, the first time some ten minutes on two cores: in a checkout of
	// kinglet from there, elsewhere once for each version from module
	// github.com/kinglet-go/kinglet/cluster, which the go command downloads. go.mod and
	// go.sum of the program under test stay as they are.
	Program string
}

func (o ClusterOptions) args() []string {
	args := []string{
		"--control",
		"--deployments=" + strconv.Itoa(o.Deployments),
		"--churn=" + strconv.FormatFloat(o.Churn, 'g', -1, 64),
	}
	if o.Nodes != 0 {
		args = append(args, "--nodes="+strconv.Itoa(o.Nodes))
	}
	if o.Replicas != 0 {
		args = append(args, "--replicas="+strconv.Itoa(o.Replicas))
	}
	for _, name := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		args = append(args, "--feature-gates="+name+"="+strconv.FormatBool(o.FeatureGates[name]))
	}
	if len(o.DisableAdmissionPlugins) > 0 {
		args = append(args, "--disable-admission-plugins="+strings.Join(o.DisableAdmissionPlugins, ","))
	}
	if o.Dir != "" {
		args = append(args, "--dir="+o.Dir)
	}
	return args
}

// A Cluster is a real Kubernetes control plane in a process of its own. Its methods are
// safe for concurrent use. Commands run one at a time, and each fails 90 seconds after it
// began.
type Cluster struct {
	// Kubeconfig is the file of the administrator's kubeconfig.
	Kubeconfig string
	// Server is the API server's URL.
	Server string

	program *clusterProgram
}

// StartCluster starts a control plane and returns once its API server is ready
// and its nodes are registered; pods become Ready soon afterwards. It is stopped when the
// test and its subtests have ended. If any of that fails, so does the test, with the last
// lines that the program, or the go command that builds it, wrote to stderr.
func StartCluster(tb testing.TB, opts ClusterOptions) *Cluster {
	tb.Helper()
	ctx := context.Background()
	if t, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := t.Deadline(); ok {
			var cancel context.CancelFunc
			// Early enough to say what happened before the test is killed.
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-abandonTimeout-5*time.Second))
			defer cancel()
		}
	}
	c, err := startCluster(ctx, opts)
	if err != nil {
		tb.Fatalf("kinglettest: start cluster: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.program.quit(commandTimeout); err != nil {
			tb.Errorf("kinglettest: stop cluster: %v", err)
		}
	})
	return c
}

// RunCluster is StartCluster for programs that are not tests, such as benchmarks. The
// control plane runs until stop is called, which returns when it has ended.
func RunCluster(ctx context.Context, opts ClusterOptions) (c *Cluster, stop func() error, err error) {
	if c, err = startCluster(ctx, opts); err != nil {
		return nil, nil, fmt.Errorf("kinglettest: start cluster: %w", err)
	}
	return c, func() error { return c.program.quit(commandTimeout) }, nil
}

func startCluster(ctx context.Context, opts ClusterOptions) (*Cluster, error) {
	program := opts.Program
	if program == "" {
		buildCtx, cancel := context.WithTimeout(ctx, buildTimeout)
		defer cancel()
		built, unlock, err := buildCluster(buildCtx)
		if err != nil {
			return nil, err
		}
		// Held until the program runs: another build may replace the file.
		defer unlock()
		program = built
	}
	p, err := startProgram(program, opts.args())
	if err != nil {
		return nil, err
	}
	ready, err := p.event(ctx, startTimeout)
	if err == nil && ready.Event != "ready" {
		err = p.errorf("said %q instead of \"ready\"", ready.Event)
	}
	if err != nil {
		return nil, errors.Join(err, p.abandon())
	}
	return &Cluster{Kubeconfig: ready.Kubeconfig, Server: ready.Server, program: p}, nil
}

// Config returns a new configuration for the administrator, without client-side rate limit.
func (c *Cluster) Config(tb testing.TB) *rest.Config {
	tb.Helper()
	config, err := ConfigFrom(c.Kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	return config
}

// ConfigFrom returns the configuration of a kubeconfig file, without client-side rate limit.
func ConfigFrom(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kinglettest: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Components that Stop and Start take.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Nodes             = "nodes"
	Churn             = "churn"
)

// Stop stops a component as kill -9 would: the API server, for instance, resets its
// connections and refuses new ones. It returns once the component has ended.
func (c *Cluster) Stop(component string) error { return c.do("stop " + component) }

// Start starts a component again, with the data and address that it had. It returns once
// the component works; the API server then answers /readyz.
func (c *Cluster) Start(component string) error { return c.do("start " + component) }

// SetChurn sets how many changes a second are made to the deployments.
func (c *Cluster) SetChurn(rate float64) error {
	return c.do("churn " + strconv.FormatFloat(rate, 'g', -1, 64))
}

// Compact makes etcd forget every version before the current one. A running API
// server still serves watches from its memory of the last events; to have old
// versions answered with 410 Gone, stop it, Compact, and start it again.
func (c *Cluster) Compact() error { return c.do("compact") }

// Backup takes a snapshot of etcd, as "etcdctl snapshot save" does, and returns
// the revision that it has. It is kept under name for the cluster's life.
func (c *Cluster) Backup(name string) (revision int64, err error) {
	e, err := c.program.command("backup " + name)
	return e.Revision, err
}

// Restore replaces etcd's data with a snapshot that [Cluster.Backup] has taken,
// as "etcdutl snapshot restore" does. Stop etcd before, and the API server as well: one that
// keeps running serves objects that no longer exist from its watch caches. A bump above 0
// is that of --bump-revision, with --mark-compacted.
func (c *Cluster) Restore(name string, bump uint64) error {
	return c.do(fmt.Sprintf("restore %s %d", name, bump))
}

// User creates a user without rights beyond discovery, and returns the path of the user's
// kubeconfig. All other requests of the user are forbidden (403).
func (c *Cluster) User(name string) (kubeconfig string, err error) {
	e, err := c.program.command("user " + name)
	return e.Kubeconfig, err
}

// Revoke revokes a user's token: within about a second, requests with it are unauthorized
// (401).
func (c *Cluster) Revoke(name string) error { return c.do("revoke " + name) }

func (c *Cluster) do(command string) error {
	_, err := c.program.command(command)
	return err
}
