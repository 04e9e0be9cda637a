package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"embed"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest"
)

// started is a program of an operator that is started, with kinglet and without, where
// many objects are already.
type started struct {
	main string // package of the operator's module
	crds string // folder of the module
	args []string
	env  []string
	// prepare writes files that args name into the folder where the program runs.
	prepare func(dir string) error
	// fill creates the objects.
	fill func(ctx context.Context, c client.Client) error
	// ask creates what the program answers once its caches have synced: an object whose
	// conditions become true.
	ask        func(ctx context.Context, c client.Client, name string) (client.Object, error)
	conditions []string
}

// starts is how often each side of a program is started; one more start comes first.
const (
	starts       = 3
	settleWithin = 30 * time.Second // after the answer
	answerWithin = 3 * time.Minute
	namespace    = "load"
)

//go:embed testdata/certmanager
var certManagerSources embed.FS

// added returns an edit that has a file of cert-manager be one of ours.
func added(file, ours string) edit {
	text, err := certManagerSources.ReadFile("testdata/certmanager/" + ours)
	if err != nil {
		panic(err)
	}
	return edit{file: file, whole: string(text)}
}

var startedKeda = &started{
	main: "cmd/operator", crds: "config/crd/bases",
	args:    []string{"--metrics-bind-address=0", "--health-probe-bind-address=0", "--metrics-service-bind-address=127.0.0.1:0", "--cert-dir=.", "--kube-api-qps=200", "--kube-api-burst=200"},
	env:     []string{"WATCH_NAMESPACE=", "POD_NAMESPACE=" + namespace, "KEDA_CLUSTER_OBJECT_NAMESPACE=" + namespace},
	prepare: writeCertificate,
	fill: func(ctx context.Context, c client.Client) error {
		return each(ctx, 20_000, func(i int) error {
			pod := testpods.Large(i/100, i, 0, false)
			for _, c := range pod.Spec.Containers { // the server wants no less than the request
				c.Resources.Limits[corev1.ResourceMemory] = c.Resources.Requests[corev1.ResourceMemory]
			}
			status := pod.Status
			status.HostIP, status.HostIPs = "", nil // there are more nodes than the template's network has
			pod.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: pod.Name, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
			if err := c.Create(ctx, pod); err != nil {
				return err
			}
			pod.Status = status
			return c.Status().Update(ctx, pod)
		})
	},
	ask: func(ctx context.Context, c client.Client, name string) (client.Object, error) {
		if err := c.Create(ctx, deployment(name)); err != nil {
			return nil, err
		}
		asked := custom("keda.sh/v1alpha1", "ScaledObject", name, map[string]any{
			"scaleTargetRef":  map[string]any{"name": name},
			"pollingInterval": int64(1),
			"triggers": []any{map[string]any{"type": "kubernetes-workload", "metadata": map[string]any{
				"podSelector": "app.kubernetes.io/name=service-000001", "value": "5",
			}}},
		})
		return asked, c.Create(ctx, asked)
	},
	conditions: []string{"Ready", "Active"},
}

var startedCertManager = &started{
	main: "internal/started", crds: "deploy/crds",
	fill: func(ctx context.Context, c client.Client) error {
		if err := createIssuer(ctx, c); err != nil {
			return err
		}
		for i := range 200 {
			if err := c.Create(ctx, certificate(fmt.Sprintf("there-%03d", i))); err != nil {
				return err
			}
		}
		return each(ctx, 10_000, func(i int) error {
			release := make([]byte, 32<<10) // compressed, as Helm does
			rand.New(rand.NewSource(int64(i))).Read(release)
			return c.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: fmt.Sprintf("sh.helm.release.v1.app-%04d.v%d", i/10, i%10),
					Labels: map[string]string{"owner": "helm", "name": fmt.Sprintf("app-%04d", i/10), "version": strconv.Itoa(i % 10), "status": "superseded"},
				},
				Type: "helm.sh/release.v1", Data: map[string][]byte{"release": release},
			})
		})
	},
	ask: func(ctx context.Context, c client.Client, name string) (client.Object, error) {
		asked := certificate(name)
		return asked, c.Create(ctx, asked)
	},
	conditions: []string{"Ready"},
}

func custom(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

func deployment(name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return custom("apps/v1", "Deployment", name, map[string]any{
		"replicas": int64(1), "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": "main"}},
		}},
	})
}

func certificate(name string) *unstructured.Unstructured {
	return custom("cert-manager.io/v1", "Certificate", name, map[string]any{
		"secretName": name, "dnsNames": []any{name + ".example.com"}, "issuerRef": map[string]any{"name": "ca"},
		"privateKey": map[string]any{"algorithm": "ECDSA", "rotationPolicy": "Always"},
	})
}

// createIssuer creates an issuer, and its authority in a Secret of the user's.
func createIssuer(ctx context.Context, c client.Client) error {
	pem, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		return err
	}
	authority, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "authority"}, key.(crypto.Signer))
	if err != nil {
		return err
	}
	text, err := cert.EncodeCertificates(authority)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ca"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: pem},
	}
	return errors.Join(c.Create(ctx, secret), c.Create(ctx, custom("cert-manager.io/v1", "Issuer", "ca", map[string]any{"ca": map[string]any{"secretName": "ca"}})))
}

// writeCertificate writes the server certificate of KEDA's metrics service.
func writeCertificate(dir string) error {
	text, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return err
	}
	return errors.Join(write(filepath.Join(dir, "ca.crt"), text), write(filepath.Join(dir, "tls.crt"), text), write(filepath.Join(dir, "tls.key"), key))
}

// each calls do with 0 to n-1, by 32 at a time, until one call fails.
func each(ctx context.Context, n int, do func(i int) error) error {
	const workers = 32
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			for i := w; i < n && ctx.Err() == nil; i += workers {
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// cost is what a start took.
type cost struct {
	answer, cpu   time.Duration // until the answer, which is asked for every 50 ms
	peak, settled int64         // bytes that were resident, until and at the end
}

// runStarts measures the programs of the chosen suites' operators.
func runStarts(ctx context.Context, dir string, chosen []suite, opts options, out io.Writer) error {
	for i := range operators {
		o := &operators[i]
		var sides []suite
		for _, s := range chosen {
			if s.operator != nil && s.operator.name == o.name {
				sides = append(sides, s)
			}
		}
		if o.started == nil || len(sides) < 2 {
			continue
		}
		if err := o.start(ctx, filepath.Join(dir, "operators"), sides, opts, out); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

// start builds the program of each side, and starts them in turn on one control plane.
func (o *operator) start(ctx context.Context, dir string, sides []suite, opts options, out io.Writer) (err error) {
	work, err := os.MkdirTemp("", "kinglet-starts")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	var programs []string
	var crds string
	for _, s := range sides {
		t, unlock, err := newOperatorTree(ctx, dir, &s, opts)
		if err != nil {
			return err
		}
		program := filepath.Join(work, strings.ReplaceAll(s.name, "/", "-"))
		cmd := goCommand(ctx, "build", "-modfile="+t.modfile, "-ldflags=-s -w", "-o", program, path.Join(o.module, o.started.main))
		cmd.Dir = t.dir
		err = runGo(ctx, cmd, func(io.Reader) error { return nil })
		unlock()
		if err != nil {
			return err
		}
		programs = append(programs, program)
		crds = filepath.Join(t.module(&goModule{Path: o.module, Version: o.version}), o.started.crds)
	}
	plane, stop, err := kinglettest.RunCluster(ctx, kinglettest.ClusterOptions{Program: opts.cluster, DisableAdmissionPlugins: offInEnvtest})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := likeEnvtest(ctx, plane); err != nil {
		return err
	}
	c, err := o.started.connect(plane, crds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: creating what is there\n", o.name)
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := o.started.fill(ctx, c); err != nil {
		return err
	}
	if o.started.prepare != nil {
		if err := o.started.prepare(work); err != nil {
			return err
		}
	}
	all := make([][]cost, len(sides))
	for n := range starts + 1 {
		for turn := range programs {
			i := (n + turn) % len(programs) // another one begins each round
			if n == 0 && turn > 0 {
				continue // it works off what was created
			}
			took, err := o.started.once(ctx, c, plane, work, programs[i], fmt.Sprintf("asked-%d-%d", n, i))
			if err != nil {
				return fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if n > 0 {
				all[i] = append(all[i], took)
			}
			fmt.Fprintf(out, "%s: %v\n", sides[i].name, took)
		}
	}
	for i, costs := range all {
		fmt.Fprintf(out, "%s, medians of %d: %v\n", sides[i].name, starts, medians(costs))
	}
	return nil
}

func (c cost) String() string {
	return fmt.Sprintf("answer after %.2f s, %.2f s of CPU, at most %d MB resident, %d MB after %v",
		c.answer.Seconds(), c.cpu.Seconds(), c.peak>>20, c.settled>>20, settleWithin)
}

func medians(all []cost) (m cost) {
	middle := func(less func(a, b cost) int) cost {
		slices.SortFunc(all, less)
		return all[len(all)/2]
	}
	m.answer = middle(func(a, b cost) int { return cmp.Compare(a.answer, b.answer) }).answer
	m.cpu = middle(func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) }).cpu
	m.peak = middle(func(a, b cost) int { return cmp.Compare(a.peak, b.peak) }).peak
	m.settled = middle(func(a, b cost) int { return cmp.Compare(a.settled, b.settled) }).settled
	return m
}

// connect returns a client of the control plane, which then has the program's resources.
func (s *started) connect(plane *kinglettest.Cluster, crds string) (client.Client, error) {
	config, err := kinglettest.ConfigFrom(plane.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	log.SetLogger(logr.Discard())
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true}); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
}

// once starts the program, and ends it when it has answered and its memory has settled.
func (s *started) once(ctx context.Context, c client.Client, plane *kinglettest.Cluster, dir, program, name string) (took cost, err error) {
	var said bytes.Buffer
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.Env = append(append(os.Environ(), s.env...), "KUBECONFIG="+plane.Kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		end()
		return took, err
	}
	ended := make(chan struct{})
	var exit error
	go func() {
		defer close(ended)
		exit = cmd.Wait()
	}()
	defer func() {
		end()
		<-ended
		if err != nil {
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			err = fmt.Errorf("%w; the program said, at the end:\n%s", errors.Join(err, exit), strings.Join(lines[max(0, len(lines)-shown):], "\n"))
		}
	}()
	asked, err := s.ask(ctx, c, name)
	if err != nil {
		return took, err
	}
	if err := s.answered(ctx, c, asked, ended); err != nil {
		return took, err
	}
	took.answer = time.Since(began)
	if took.cpu, _, _, err = usage(cmd.Process.Pid); err != nil {
		return took, err
	}
	select {
	case <-time.After(settleWithin):
	case <-ended:
		return took, errors.New("the program has ended")
	case <-ctx.Done():
		return took, ctx.Err()
	}
	if _, took.settled, took.peak, err = usage(cmd.Process.Pid); err != nil {
		return took, err
	}
	return took, c.Delete(ctx, asked) // later starts have no more to do than this one
}

// answered waits until the conditions of an object are true.
func (s *started) answered(ctx context.Context, c client.Client, asked client.Object, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("%s %s is not %v after %v", asked.GetObjectKind().GroupVersionKind().Kind, asked.GetName(), s.conditions, answerWithin))
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if err := c.Get(ctx, client.ObjectKeyFromObject(asked), asked); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		conditions, _, err := unstructured.NestedSlice(asked.(*unstructured.Unstructured).Object, "status", "conditions")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.conditions, func(want string) bool {
			return !slices.ContainsFunc(conditions, func(is any) bool {
				has, _ := is.(map[string]any)
				return has["type"] == want && has["status"] == "True"
			})
		}) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ended:
			return errors.New("the program has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// usage returns what a process has used: processor time, memory that is resident, and the
// most that was.
func usage(pid int) (cpu time.Duration, resident, peak int64, err error) {
	stat, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	status, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, 0, 0, fmt.Errorf("/proc/%d/stat: %q", pid, stat)
	}
	for _, ticks := range fields[11:13] { // of a hundredth of a second, utime and stime
		n, err := strconv.ParseInt(ticks, 10, 64)
		if err != nil {
			return 0, 0, 0, err
		}
		cpu += time.Duration(n) * 10 * time.Millisecond
	}
	kib := func(name string) (n int64) {
		_, after, _ := strings.Cut(string(status), name+":")
		_, scanErr := fmt.Sscan(after, &n)
		err = errors.Join(err, scanErr)
		return n << 10
	}
	resident, peak = kib("VmRSS"), kib("VmHWM")
	return cpu, resident, peak, err
}
