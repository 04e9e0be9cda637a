package cluster

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/cluster/churn"
	"github.com/kinglet-go/kinglet/cluster/nodes"
)

func (c *Cluster) clientFor(user string) (kubernetes.Interface, error) {
	config := c.restConfig(c.identity.tokens[user])
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(rest.AddUserAgent(config, user))
}

// logError writes to the cluster's log; what failed is tried again.
func logError(err error) { klog.Warning(err) }

// startNodes returns once every node is registered.
func (c *Cluster) startNodes(ctx context.Context) (process, error) {
	client, err := c.clientFor(nodesUser)
	if err != nil {
		return nil, err
	}
	simulator, err := nodes.New(client, c.opts.Nodes, logError)
	if err != nil {
		return nil, err
	}
	p := newRunProcess(simulator.Run)
	select {
	case <-simulator.Registered():
		return p, nil
	case <-p.done():
		return nil, p.failure()
	case <-ctx.Done():
		p.cancel()
		return nil, context.Cause(ctx)
	}
}

func (c *Cluster) newChurn() (*churn.Churn, error) {
	client, err := c.clientFor(churnUser)
	if err != nil {
		return nil, err
	}
	return churn.New(client, churn.Options{
		Deployments: c.opts.Deployments,
		Replicas:    c.opts.Replicas,
		Rate:        c.opts.Churn,
		OnError:     logError,
	})
}

// startChurn returns at once; the deployments follow.
func (c *Cluster) startChurn(context.Context) (process, error) {
	return newRunProcess(c.churner.Run), nil
}
