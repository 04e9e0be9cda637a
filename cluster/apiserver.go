package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServerProcess is a running API server.
type apiServerProcess struct {
	*task
	listener *cutListener
}

func (c *Cluster) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + etcdEndpoint(c.socket),
		"--bind-address=127.0.0.1",
		"--tls-cert-file=" + c.dir.file(servingCertFile),
		"--tls-private-key-file=" + c.dir.file(servingKeyFile),
		"--token-auth-file=" + c.dir.file(tokensFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file=" + c.dir.file(serviceAccountKeyFile),
		"--service-account-key-file=" + c.dir.file(serviceAccountKeyFile),
		"--service-cluster-ip-range=172.20.0.0/16",
		// A loopback address may not stand in an Endpoints object.
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
		// With churn, events are most of what is stored.
		"--event-ttl=15m",
		"--profiling=false",
		// Also how long a stop may wait for requests under way, which under load
		// can be stuck for as long as they may take: a minute by default.
		"--request-timeout=20s",
	}
	if off := c.opts.DisableAdmissionPlugins; len(off) > 0 {
		args = append(args, "--disable-admission-plugins="+strings.Join(off, ","))
	}
	return args
}

func (c *Cluster) startAPIServer(ctx context.Context) (process, error) {
	opts := options.NewServerRunOptions()
	registry, err := newRegistry()
	if err != nil {
		return nil, err
	}
	opts.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	flags := opts.Flags()
	if err := parse(APIServer, &flags, c.apiServerArgs()); err != nil {
		return nil, err
	}
	// A token of a deleted service account is refused a second later.
	opts.Authentication.TokenSuccessCacheTTL = time.Second
	opts.Authentication.TokenFailureCacheTTL = time.Second
	if err := registry.Set(); err != nil {
		return nil, err
	}
	tcp, err := listen(c.address)
	if err != nil {
		return nil, err
	}
	listener := newCutListener(tcp)
	address := tcp.Addr().(*net.TCPAddr)
	opts.SecureServing.Listener = listener
	opts.SecureServing.BindPort = address.Port
	opts.SecureServing.ExternalAddress = address.IP

	completed, err := opts.Complete(ctx)
	if err == nil {
		err = utilerrors.NewAggregate(completed.Validate())
	}
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	p := &apiServerProcess{listener: listener}
	p.task = startTask(func(ctx context.Context) error {
		defer listener.Close()
		return app.Run(ctx, completed)
	})
	if err := c.waitReady(ctx, p); err != nil {
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
		defer cancel()
		if ctx.Err() != nil {
			// A start hook that is interrupted wants to end the process (see
			// ExitError), with a stack trace on stderr: let them finish.
			_ = c.waitReady(ended, p)
		}
		return nil, errors.Join(err, p.stop(ended))
	}
	return p, nil
}

// errNoAnswer stands for the answer of a server that was never asked in time.
var errNoAnswer = errors.New("none")

// abandonTimeout bounds how long a start that has failed is waited for.
const abandonTimeout = 20 * time.Second

// waitReady asks /readyz until it answers ok, p ends, or ctx is over.
func (c *Cluster) waitReady(ctx context.Context, p process) error {
	client, err := rest.HTTPClientFor(c.RESTConfig())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := askReady(ctx, client, c.Server())
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil:
			last = err
		}
		select {
		case <-ticker.C:
		case <-p.done():
			return fmt.Errorf("ended before it was ready: %w", cmp.Or(p.failure(), errEnded))
		case err := <-c.fatal:
			return err
		case <-ctx.Done():
			return fmt.Errorf("not ready, %w; last answer: %w", context.Cause(ctx), cmp.Or(last, errNoAnswer))
		}
	}
}

func askReady(ctx context.Context, client *http.Client, server string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, failedChecks(string(body)))
	}
	return err
}

// failedChecks returns the lines of a /readyz answer that do not say that all
// is well.
func failedChecks(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "[+]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	return strings.Join(failed, ", ")
}

func (p *apiServerProcess) done() <-chan struct{} { return p.ended }
func (p *apiServerProcess) failure() error        { return p.err }

// lingerTimeout bounds how long a stop waits for the server to end inside, which
// takes some hundredths of a second. Once, on a machine with much else to do, it
// took more than a minute: see stop.
const lingerTimeout = 15 * time.Second

// errLingers is the cause with which stop gives up waiting.
var errLingers = errors.New("the API server lingers")

// stop ends the server as a kill would, seen from outside: every connection is
// reset at once, and the port refuses. What is left to do inside follows. If
// that takes too long, it goes on by itself, which the log tells: nobody can
// reach it, and the next server has a listener, an etcd client and a registry of
// its own.
func (p *apiServerProcess) stop(ctx context.Context) error {
	p.listener.cut()
	p.cancel()
	bounded, cancel := context.WithTimeoutCause(ctx, lingerTimeout, errLingers)
	defer cancel()
	err := p.wait(bounded)
	if errors.Is(err, errLingers) {
		klog.ErrorS(err, "Stopped for everybody outside, but not inside", "after", lingerTimeout)
		return nil
	}
	return err
}

// stampedVersion is a component's version, with the release of Kubernetes at /version.
//
// Kubernetes' own builds stamp it with -ldflags; the placeholder of any other build is
// no semantic version, so kubectl and others cannot parse it.
type stampedVersion struct {
	compatibility.MutableEffectiveVersion
}

func (v stampedVersion) Info() *apimachineryversion.Info {
	info := v.MutableEffectiveVersion.Info()
	info.GitVersion = release(v.BinaryVersion())
	info.GitCommit = ""
	return info
}

// Version returns the release of Kubernetes that runs, such as v1.36.3.
func Version() string {
	return release(utilcompatibility.DefaultKubeEffectiveVersionForTest().BinaryVersion())
}

// release returns the version of k8s.io/kubernetes that the program is built with, or
// the first patch of the minor if the build does not say.
func release(minor *version.Version) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "k8s.io/kubernetes" {
				return module.Version
			}
		}
	}
	return "v" + minor.WithPatch(0).String()
}
