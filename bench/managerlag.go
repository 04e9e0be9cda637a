package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

const (
	// lag is how late the server's watches are.
	lag = 200 * time.Millisecond
	// laggingPods are what the server has.
	laggingPods = 100
)

// serveLagging is a server that takes writes, and whose watches tell of them when lag
// has passed, until its input ends.
func serveLagging(ctx context.Context, out io.Writer) error {
	storage := apiserver.NewStorage(apiserver.Pods)
	for i := range laggingPods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%03d", i)}}
		if _, err := storage.Create(p); err != nil {
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
	server.Hold()
	known := storage.Revision()
	const step = time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	// The revisions of the last steps, the oldest next.
	var then [int(lag / step)]int64
	for i := 0; ; i = (i + 1) % len(then) {
		if due := then[i]; due > known {
			known = server.Advance(due - known)
		}
		then[i] = storage.Revision()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// measureLag measures a reconciler that writes an object and then reads it: from the
// write's answer until the read has returned it.
func measureLag(ctx context.Context, w *managed) error {
	server, err := serve[string](ctx, "lagging", nil)
	if err != nil {
		return err
	}
	defer server.stop()
	if w.job.Engine == runtimes {
		// Without it, reads show own writes when the watch has brought them.
		w.newClient = consistent
	}
	if err := w.startWith(ctx, &rest.Config{Host: server.at, QPS: -1}, cache.Options{}, nil, laggingPods); err != nil {
		return err
	}
	cl := w.manager.GetClient()
	var took []float64
	for i := range w.job.Size.scaled(100, 5) + 1 {
		key := client.ObjectKey{Namespace: "shop", Name: fmt.Sprintf("web-%03d", i%laggingPods)}
		var p, read corev1.Pod
		if err := cl.Get(ctx, key, &p); err != nil {
			return err
		}
		p.Annotations = map[string]string{"round": fmt.Sprint(i)}
		if err := cl.Update(ctx, &p); err != nil {
			return err
		}
		written := time.Now()
		if err := cl.Get(ctx, key, &read); err != nil {
			return err
		}
		// The first one also compiles and connects.
		if i > 0 {
			took = append(took, micros(time.Since(written)))
		}
		if read.ResourceVersion != p.ResourceVersion {
			return fmt.Errorf("a read after the write of version %s has version %s", p.ResourceVersion, read.ResourceVersion)
		}
	}
	for key, x := range percentiles(took) {
		w.figures[key] = x
	}
	return nil
}

// consistent is controller-runtime's client, whose reads wait for own writes.
func consistent(cfg *rest.Config, opts client.Options) (client.Client, error) {
	opts.Cache.EnableReadYourWritesConsistency = new(true)
	return client.New(cfg, opts)
}
