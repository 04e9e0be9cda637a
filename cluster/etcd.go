package cluster

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// etcdProcess is a running etcd. It listens on a Unix socket in a folder that
// only this user can enter: no port, and no keys to manage.
type etcdProcess struct {
	etcd   *embed.Etcd
	conns  *connections
	ended  chan struct{}
	err    error // readable once ended is closed
	close  sync.Once
	closed chan struct{}
}

func etcdEndpoint(socket string) string { return "unix://" + socket }

// etcdConfig is the configuration of the only member, as far as a restored
// snapshot must know it.
func etcdConfig(dir string) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "kinglet"
	cfg.Dir = dir
	cfg.ListenPeerUrls = nil // a cluster of one
	// etcd insists on addresses to announce to members that never come.
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	cfg.AdvertiseClientUrls = []url.URL{nowhere}
	cfg.AdvertisePeerUrls = []url.URL{nowhere}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	return cfg
}

func (c *Cluster) startEtcd(ctx context.Context) (process, error) {
	cfg := etcdConfig(etcdDir(c.dir.path))
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: c.socket}}
	cfg.EnableGRPCGateway = false
	// What a killed process wrote is in the kernel's hands and survives; only
	// a power cut could lose it, and a test cluster may lose it then.
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = 8 << 30
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	// A single member needs no patience in elections.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	conns := &connections{}
	cfg.GRPCAdditionalServerOptions = []grpc.ServerOption{
		grpc.Creds(trackingCredentials{insecure.NewCredentials(), conns}),
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(c.etcdLogger())

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	p := &etcdProcess{etcd: etcd, conns: conns, ended: make(chan struct{}), closed: make(chan struct{})}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-ctx.Done():
		etcd.Close()
		return nil, context.Cause(ctx)
	}
	go func() {
		defer close(p.ended)
		select {
		case <-etcd.Server.StopNotify():
		case p.err = <-etcd.Err():
		}
	}()
	return p, nil
}

func (c *Cluster) etcdLogger() *zap.Logger {
	level := zapcore.WarnLevel
	if c.opts.Verbosity > 0 {
		level = zapcore.InfoLevel
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(c.dir.log), level)).Named("etcd")
}

func (p *etcdProcess) done() <-chan struct{} { return p.ended }
func (p *etcdProcess) failure() error        { return p.err }

func (p *etcdProcess) stop(ctx context.Context) error {
	p.close.Do(func() {
		go func() {
			defer close(p.closed)
			// Hard first: an API server's open watches would hold up a graceful
			// end for several seconds.
			p.conns.cutAll()
			p.etcd.Server.HardStop()
			p.etcd.Close()
		}()
	})
	select {
	case <-p.closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// trackingCredentials is the place where grpc shows a connection that it has
// accepted.
type trackingCredentials struct {
	credentials.TransportCredentials
	conns *connections
}

// ServerHandshake implements credentials.TransportCredentials.
func (c trackingCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ServerHandshake(c.conns.track(conn))
}

// Clone implements credentials.TransportCredentials.
func (c trackingCredentials) Clone() credentials.TransportCredentials {
	return trackingCredentials{c.TransportCredentials.Clone(), c.conns}
}

// compact forgets every version before the current one.
func (p *etcdProcess) compact(ctx context.Context) (int64, error) {
	revision := p.etcd.Server.KV().Rev()
	_, err := p.etcd.Server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true})
	if err != nil {
		return 0, fmt.Errorf("compact at revision %d: %w", revision, err)
	}
	return revision, nil
}
