package cluster

import (
	"context"
	"fmt"
	"net"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServerProcess is a running API server.
type apiServerProcess struct {
	*task
	listener *cutListener
}

func (c *Cluster) apiServerArgs() []string {
	return []string{
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
	}
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
		// The start hooks may still be under way, and want to end the process
		// when they are interrupted: see ExitError.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_ = p.stop(stopCtx)
		return nil, err
	}
	return p, nil
}

// waitReady asks /readyz until it answers ok, p ends, or ctx is over.
func (c *Cluster) waitReady(ctx context.Context, p process) error {
	client, err := rest.UnversionedRESTClientFor(unversioned(c.RESTConfig()))
	if err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		body, err := client.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Raw()
		if err == nil && string(body) == "ok" {
			return nil
		}
		select {
		case <-ticker.C:
		case <-p.done():
			return fmt.Errorf("ended before it was ready: %w", p.failure())
		case err := <-c.fatal:
			return err
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w (last answer: %s, %w)", context.Cause(ctx), body, err)
		}
	}
}

func (p *apiServerProcess) done() <-chan struct{} { return p.ended }
func (p *apiServerProcess) failure() error        { return p.err }

// stop ends the server as a kill would, seen from outside: every connection is
// reset at once, and the port refuses. What is left to do inside follows.
func (p *apiServerProcess) stop(ctx context.Context) error {
	p.listener.cut()
	p.cancel()
	return p.wait(ctx)
}
