package interop

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// watchLag is by how much watches are behind.
const watchLag = 200 * time.Millisecond

// lagging has what watches answer come later.
type lagging struct{ next http.RoundTripper }

func (l lagging) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err == nil && req.URL.Query().Get("watch") != "" {
		resp.Body = newLaggingBody(resp.Body)
	}
	return resp, err
}

// laggingBody gives away what it has read watchLag later.
type laggingBody struct {
	io.Closer
	reading sync.WaitGroup
	chunks  chan chunk
	rest    []byte
	closed  chan struct{}
	once    sync.Once
}

type chunk struct {
	due  time.Time
	data []byte
	err  error
}

func newLaggingBody(body io.ReadCloser) *laggingBody {
	b := &laggingBody{Closer: body, chunks: make(chan chunk, 1000), closed: make(chan struct{})}
	b.reading.Go(func() {
		for {
			buf := make([]byte, 32<<10)
			n, err := body.Read(buf)
			select {
			case b.chunks <- chunk{time.Now().Add(watchLag), buf[:n], err}:
			case <-b.closed:
				return
			}
			if err != nil {
				return
			}
		}
	})
	return b
}

func (b *laggingBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		select {
		case <-b.closed:
			return 0, io.EOF
		case c := <-b.chunks:
			select {
			case <-time.After(time.Until(c.due)):
			case <-b.closed:
			}
			if c.err != nil {
				return copy(p, c.data), c.err
			}
			b.rest = c.data
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *laggingBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	err := b.Closer.Close()
	b.reading.Wait()
	return err
}

// TestReadsAfterOwnWritesDoNotWait writes and reads, again and again, while the
// watch is behind: with kinglet, with the client of module ctrlruntime, and with
// controller-runtime's client that reads its own writes.
func TestReadsAfterOwnWritesDoNotWait(t *testing.T) {
	const rounds = 10
	server := apiserver.New(apiserver.NewStorage(apiserver.ConfigMaps), apiserver.Options{})
	defer server.Close()
	cfg := rest.CopyConfig(server.Config())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{next} })
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("ns")
	create := func(name string) *corev1.ConfigMap {
		made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()

	t.Run("kinglet", func(t *testing.T) {
		src, err := source.FromConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		informer, err := kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = informer.Run(ctx) })
		if err := informer.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		key := kinglet.Key{Namespace: "ns", Name: "kinglet"}
		if err := informer.Wrote(create(key.Name)); err != nil {
			t.Fatal(err)
		}
		var waited time.Duration
		for i := range rounds {
			held, _ := informer.Store().Get(key)
			next := held.DeepCopy()
			next.Data = map[string]string{"round": strconv.Itoa(i)}
			answer, err := maps.Update(t.Context(), next, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := informer.Wrote(answer); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			read, _ := informer.Store().Get(key)
			waited += time.Since(began)
			if read == nil || read.ResourceVersion != answer.ResourceVersion {
				t.Fatalf("round %d: read %v, wrote version %s", i, read, answer.ResourceVersion)
			}
		}
		t.Logf("%d writes and reads: the reads took %v", rounds, waited)
		if waited > watchLag/2 {
			t.Errorf("%d reads took %v", rounds, waited)
		}
	})

	for _, of := range []struct {
		name string
		// set makes a cluster's client one that reads its own writes.
		set func(*cluster.Options)
		// waits: its reads wait for the watch.
		waits bool
	}{
		{"ctrlruntime", func(o *cluster.Options) {
			o.NewCache, o.NewClient = ctrlruntime.NewCache, ctrlruntime.NewClient
		}, false},
		{"controller-runtime", func(o *cluster.Options) {
			o.Client.Cache = &crclient.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}
		}, true},
	} {
		t.Run(of.name, func(t *testing.T) {
			c, err := cluster.New(cfg, func(o *cluster.Options) {
				mapper := meta.NewDefaultRESTMapper(nil)
				mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
				o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }
				of.set(o)
			})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { _ = c.Start(ctx) })
			if !c.GetCache().WaitForCacheSync(t.Context()) {
				t.Fatal("not synced")
			}
			held := create(of.name)
			client := c.GetClient()
			key := crclient.ObjectKeyFromObject(held)
			if err := client.Get(t.Context(), key, &corev1.ConfigMap{}); err != nil {
				t.Log(err) // makes the informer
			}
			var waited time.Duration
			for i := range rounds {
				held.Data = map[string]string{"round": strconv.Itoa(i)}
				if err := client.Update(t.Context(), held); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				read := &corev1.ConfigMap{}
				if err := client.Get(t.Context(), key, read); err != nil {
					t.Fatal(err)
				}
				waited += time.Since(began)
				if read.ResourceVersion != held.ResourceVersion {
					t.Errorf("round %d: read version %s, wrote %s", i, read.ResourceVersion, held.ResourceVersion)
				}
			}
			t.Logf("%d writes and reads: the reads took %v", rounds, waited)
			if !of.waits && waited > watchLag/2 {
				t.Errorf("%d reads took %v", rounds, waited)
			}
		})
	}
}
