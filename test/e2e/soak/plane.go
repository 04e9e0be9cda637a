package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

const (
	// Protobuf is preferred. Custom resources have JSON only.
	protobuf        = "application/vnd.kubernetes.protobuf"
	protobufAndJSON = protobuf + ",application/json"
	// podChurn is the number of changes of deployments in a second.
	podChurn = 1
)

// plane is the control plane, an undisturbed connection to it, and the proxy.
type plane struct {
	*kinglettest.Cluster
	direct  *rest.Config
	pool    *http.Client          // of direct clients
	client  *kubernetes.Clientset // direct
	dynamic dynamic.Interface     // direct
	proxy   *proxy
	// heap is how much larger the heap may be at the end.
	heap uint64

	down atomic.Int64 // nanoseconds, in all
}

// startPlane starts a control plane, and returns a function that ends it.
func startPlane(ctx context.Context, o *options) (*plane, func() error, error) {
	cluster, stop, err := kinglettest.RunCluster(ctx, kinglettest.ClusterOptions{
		Program: o.program, Nodes: 2, Deployments: 6, Replicas: 8,
	})
	if err != nil {
		return nil, nil, err
	}
	p := &plane{Cluster: cluster, heap: moreHeap}
	if o.brief {
		p.heap = moreHeapBrief
	}
	if err := p.connect(); err != nil {
		_ = stop() // the first error says it
		return nil, nil, err
	}
	return p, func() error {
		p.proxy.stop()
		return stop()
	}, nil
}

func (p *plane) connect() (err error) {
	if p.direct, err = kinglettest.ConfigFrom(p.Kubeconfig); err != nil {
		return err
	}
	inProtobuf := rest.CopyConfig(p.direct)
	inProtobuf.ContentType, inProtobuf.AcceptContentTypes = protobuf, protobufAndJSON
	if p.pool, err = rest.HTTPClientFor(p.direct); err != nil {
		return err
	}
	if p.client, err = kubernetes.NewForConfigAndClient(inProtobuf, p.pool); err != nil {
		return err
	}
	if p.dynamic, err = dynamic.NewForConfigAndClient(p.direct, p.pool); err != nil {
		return err
	}
	server, err := url.Parse(p.Server)
	if err != nil {
		return err
	}
	p.proxy, err = newProxy(server.Host)
	return err
}

// pooled returns the configuration of clients that share their connection.
func (p *plane) pooled() *rest.Config {
	cfg := rest.CopyConfig(p.direct)
	cfg.Host = "https://" + p.proxy.address()
	return cfg
}

// apart returns the configuration of a client with its own connection.
func (p *plane) apart() *rest.Config {
	cfg := p.pooled()
	cfg.Dial = p.proxy.dial
	return cfg
}

// restart kills the API server and starts it again. With expire, etcd is compacted in
// between, so that no watch can resume.
func (p *plane) restart(expire bool) error {
	began := time.Now()
	if err := p.Stop(kinglettest.APIServer); err != nil {
		return err
	}
	if expire {
		if err := p.Compact(); err != nil {
			return err
		}
	}
	if err := p.Start(kinglettest.APIServer); err != nil {
		return err
	}
	p.down.Add(int64(time.Since(began)))
	return nil
}

// idle closes every connection, which must not be in use, and returns the process's
// resources after that. They should be back at before, unless that is zero.
func (p *plane) idle(ctx context.Context, before gauge) (gauge, error) {
	p.proxy.hangUp()
	utilnet.CloseIdleConnectionsFor(p.pool.Transport)
	return settle(ctx, before, p.heap, 20*time.Second)
}

// collection is one resource in one form, listed without an informer.
type collection struct {
	name string
	gvr  schema.GroupVersionResource
	list func(ctx context.Context) (runtime.Object, error)
}

// truth lists the collection, consistently.
func (c *collection) truth(ctx context.Context) (history.Objects, error) {
	list, err := c.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", c.name, err)
	}
	out := history.Objects{}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := meta.Accessor(item)
		if err == nil {
			out[history.KeyOf(obj)] = obj
		}
		return err
	})
	return out, err
}
