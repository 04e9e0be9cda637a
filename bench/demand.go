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

// secrets are what a server has.
type secrets struct {
	N, Bytes int
	// budget is what kinglet's informer may hold of them whole, in bytes; 0 if it holds ten,
	// and others on demand.
	budget int64
}

// heldSecrets are those of which every version is whole.
const heldSecrets = 10

var secretsResource = corev1.SchemeGroupVersion.WithResource("secrets")

// demandRows are programs that refer to a few of many large objects, or would hold more than
// they have memory for.
func demandRows(s size) []row {
	few := secrets{N: s.scaled(33_000, 300), Bytes: 32 << 10}
	hostile := secrets{N: s.scaled(700, 20), Bytes: s.scaled(1e6, 1e5), budget: int64(s.scaled(256e6, 8e5))}
	return []row{
		{
			name: "secrets on demand", engines: []string{clientGo, kinglets, metadataOf}, once: true,
			figures: []figure{
				{key: "sync cpu", what: "initial sync, CPU", unit: "s"},
				{key: "sync peak", what: "peak RSS of the sync", unit: "MB", targets: below(20, 0)},
				{key: "heap", what: "live heap", unit: "MB"},
				{key: "get held", what: "Get of an object that is held whole", unit: "ns"},
				{key: "get kept", what: "Get of one on demand that was read before", unit: "ns"},
			},
			do: func(ctx context.Context, j *job) (measure, error) { return measureDemand(ctx, j, few) },
		},
		{
			name: "secrets beyond a budget", engines: []string{clientGo, kinglets}, once: true,
			figures: []figure{
				{key: "sync cpu", what: "initial sync, CPU", unit: "s"},
				{key: "sync peak", what: "peak RSS of the sync", unit: "MB"},
				{key: "heap", what: "live heap", unit: "MB", targets: map[string]target{kinglets: {own: 270}}},
				{key: "problem", what: "until a Problem says so, since the start", unit: "s", targets: map[string]target{kinglets: {own: 5}}},
				{key: "well", what: "until all are whole, once most have gone", unit: "s"},
			},
			do: func(ctx context.Context, j *job) (measure, error) { return measureDemand(ctx, j, hostile) },
		},
	}
}

// serveSecrets is a server of secrets of random data, until its input ends.
func serveSecrets(ctx context.Context, have secrets, out io.Writer) error {
	storage := apiserver.NewStorage(apiserver.Resource{GroupVersionResource: secretsResource, Kind: "Secret"})
	r := rand.NewChaCha8([32]byte{})
	for i := range have.N {
		data := make([]byte, have.Bytes)
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

func measureDemand(ctx context.Context, j *job, have secrets) (measure, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	server, err := serve[string](ctx, "secrets", have)
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
	var status func() kinglet.Status
	opts := kinglet.OnDemandOptions[*corev1.Secret]{}
	if have.budget > 0 {
		opts.Whole = func(kinglet.Key, map[string]string, []metav1.OwnerReference) bool { return true }
		opts.Budget = kinglet.NewBudget(have.budget)
	}
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
		}, opts)
		if err != nil {
			return nil, err
		}
		if have.budget == 0 {
			for i := range heldSecrets {
				inf.Hold(secretKey(i * have.N / heldSecrets))
			}
		}
		run, synced, get, status = inf.Run, func() error { return inf.WaitSynced(ctx) }, inf.Get, inf.Status
	}
	return demanded(ctx, j, have, before, run, synced, get, status, cfg)
}

// demanded measures an informer; get is nil if nothing can be read, and status if there is no
// budget.
func demanded(ctx context.Context, j *job, have secrets, before float64, run func(context.Context) error, synced func() error,
	get func(context.Context, kinglet.Key) (*corev1.Secret, error), status func() kinglet.Status, cfg *rest.Config) (f measure, err error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	defer func() {
		stop()
		if failed := <-ended; err == nil {
			err = failed
		}
	}()
	began := time.Now()
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
	if have.budget > 0 && status != nil {
		s := status()
		if s.Budget.Short == 0 {
			return nil, fmt.Errorf("all are whole: %+v", s.Budget)
		}
		f["problem"] = s.Budget.Since.Sub(began).Seconds()
		if err := deleteMost(ctx, cfg, have); err != nil {
			return nil, err
		}
		began = time.Now()
		err := poll(ctx, func() bool { s := status(); return s.Budget.Short == 0 && s.Objects == have.N/10 })
		f["well"] = time.Since(began).Seconds()
		return f, err
	}
	if get == nil || have.budget > 0 {
		return f, nil
	}
	took := func(rounds int, of func(i int) kinglet.Key) (float64, error) {
		began := time.Now()
		for i := range rounds {
			s, err := get(ctx, of(i))
			if err != nil {
				return 0, err
			}
			if len(s.Data["data"]) != have.Bytes {
				return 0, fmt.Errorf("%s has %d bytes", s.Name, len(s.Data["data"]))
			}
		}
		return float64(time.Since(began).Nanoseconds()) / float64(rounds), nil
	}
	const many = 1_000_000
	held := secretKey(have.N / heldSecrets)
	if f["get held"], err = took(many, func(int) kinglet.Key { return held }); err != nil || j.Engine == clientGo {
		return f, err
	}
	kept := secretKey(1)
	f["get kept"], err = took(many, func(int) kinglet.Key { return kept })
	return f, err
}

// deleteMost deletes all but a tenth.
func deleteMost(ctx context.Context, cfg *rest.Config, have secrets) error {
	c, err := typedv1.NewForConfig(cfg)
	if err != nil {
		return err
	}
	for i := range have.N {
		if i%10 == 0 {
			continue
		}
		if err := c.Secrets("shop").Delete(ctx, secretName(i), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
