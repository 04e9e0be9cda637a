package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// metadataOf is kinglet's informer of metadata alone, with which nothing can be read.
const metadataOf = "metadata alone"

const (
	secretBytes = 32 << 10
	// heldSecrets are those of which every version is whole.
	heldSecrets = 10
)

var secretsResource = corev1.SchemeGroupVersion.WithResource("secrets")

// demandRow is a program that refers to a few of many large objects.
func demandRow(s size) row {
	return row{
		name: "secrets on demand", engines: []string{clientGo, kinglets, metadataOf}, once: true,
		figures: []figure{
			{key: "sync cpu", what: "initial sync, CPU", unit: "s"},
			{key: "sync peak", what: "peak RSS of the sync", unit: "MB", targets: below(20, 0)},
			{key: "heap", what: "live heap", unit: "MB"},
			{key: "get held", what: "Get of an object that is held whole", unit: "ns"},
			{key: "get kept", what: "Get of one on demand that was read before", unit: "ns"},
		},
		do: func(ctx context.Context, j *job) (measure, error) { return measureDemand(ctx, j, s.scaled(33_000, 300)) },
	}
}

// serveSecrets is a server of secrets of random data, until its input ends.
func serveSecrets(ctx context.Context, n int, out io.Writer) error {
	storage := apiserver.NewStorage(apiserver.Resource{GroupVersionResource: secretsResource, Kind: "Secret"})
	r := rand.NewChaCha8([32]byte{})
	for i := range n {
		data := make([]byte, secretBytes)
		_, _ = r.Read(data) // it never fails
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: secretName(i)}, Data: map[string][]byte{"data": data}}
		if _, err := storage.Create(s); err != nil {
			return err
		}
	}
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	cfg, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(cfg.Host); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func secretName(i int) string { return fmt.Sprintf("credentials-%05d", i) }

func secretKey(i int) kinglet.Key { return kinglet.Key{Namespace: "shop", Name: secretName(i)} }

func measureDemand(ctx context.Context, j *job, n int) (measure, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	server, err := serve[string](ctx, "secrets", n)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	cfg := &rest.Config{Host: server.at, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}}
	before, _, err := process.Settle()
	if err != nil {
		return nil, err
	}
	var get func(context.Context, kinglet.Key) (*corev1.Secret, error)
	var run func(context.Context) error
	var synced func() error
	switch j.Engine {
	case clientGo:
		c, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		inf := clientgo.NewSharedIndexInformer(clientgo.NewListWatchFromClient(c.RESTClient(), "secrets", "", fields.Everything()), &corev1.Secret{}, 0, clientgo.Indexers{})
		run = func(ctx context.Context) error { inf.RunWithContext(ctx); return nil }
		synced = func() error { clientgo.WaitForCacheSync(ctx.Done(), inf.HasSynced); return ctx.Err() }
		get = func(_ context.Context, key kinglet.Key) (*corev1.Secret, error) {
			obj, ok, err := inf.GetIndexer().GetByKey(key.Namespace + "/" + key.Name)
			if err == nil && !ok {
				err = fmt.Errorf("%s is not there", key)
			}
			if err != nil {
				return nil, err
			}
			return obj.(*corev1.Secret), nil
		}
	case metadataOf:
		src, err := source.FromConfig[*metav1.PartialObjectMetadata](cfg, secretsResource, source.Options{})
		if err != nil {
			return nil, err
		}
		inf, err := kinglet.New(src, kinglet.Options[*metav1.PartialObjectMetadata]{})
		if err != nil {
			return nil, err
		}
		run, synced = inf.Run, func() error { return inf.WaitSynced(ctx) }
	default:
		inf, err := kinglet.NewOnDemand(func(o source.Options) (source.Source[*corev1.Secret], error) {
			return source.FromConfig[*corev1.Secret](cfg, secretsResource, o)
		}, kinglet.OnDemandOptions[*corev1.Secret]{})
		if err != nil {
			return nil, err
		}
		for i := range heldSecrets {
			inf.Hold(secretKey(i * n / heldSecrets))
		}
		run, synced, get = inf.Run, func() error { return inf.WaitSynced(ctx) }, inf.Get
	}
	return demanded(ctx, j, n, before, run, synced, get)
}

// demanded measures an informer; get is nil if nothing can be read.
func demanded(ctx context.Context, j *job, n int, before float64, run func(context.Context) error, synced func() error,
	get func(context.Context, kinglet.Key) (*corev1.Secret, error)) (f measure, err error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	defer func() {
		stop()
		if failed := <-ended; err == nil {
			err = failed
		}
	}()
	cost, err := j.phase("sync", func() error {
		go func() { ended <- run(running) }()
		return synced()
	})
	if err != nil {
		return nil, err
	}
	live, _, err := process.Settle()
	if err != nil {
		return nil, err
	}
	f = measure{"sync cpu": cost.CPU, "sync peak": cost.Peak / megabyte, "heap": (live - before) / megabyte}
	if get == nil {
		return f, nil
	}
	took := func(rounds int, of func(i int) kinglet.Key) (float64, error) {
		began := time.Now()
		for i := range rounds {
			s, err := get(ctx, of(i))
			if err != nil {
				return 0, err
			}
			if len(s.Data["data"]) != secretBytes {
				return 0, fmt.Errorf("%s has %d bytes", s.Name, len(s.Data["data"]))
			}
		}
		return float64(time.Since(began).Nanoseconds()) / float64(rounds), nil
	}
	const many = 1_000_000
	held := secretKey(n / heldSecrets)
	if f["get held"], err = took(many, func(int) kinglet.Key { return held }); err != nil || j.Engine == clientGo {
		return f, err
	}
	kept := secretKey(1)
	f["get kept"], err = took(many, func(int) kinglet.Key { return kept })
	return f, err
}
