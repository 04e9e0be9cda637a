package main

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// byNode is the index that many controllers have.
var byNode = map[string]client.IndexerFunc{
	"spec.nodeName": func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} },
}

// measureManager measures the start of a manager and a burst of events.
func measureManager(secure bool, opts cache.Options) func(context.Context, *managed) error {
	return func(ctx context.Context, w *managed) error {
		before, _, err := process.Settle()
		if err != nil {
			return err
		}
		cost, err := w.job.phase("start", func() error { return w.start(ctx, w.config(secure), opts, byNode) })
		if err != nil {
			return err
		}
		live, _, err := process.Settle()
		if err != nil {
			return err
		}
		f := w.figures
		f["heap"] = (live - before) / float64(w.pods.Len())
		f["peak"], f["cpu"], f["wall"] = cost.Peak/megabyte, cost.CPU, cost.Wall
		return w.burst(ctx)
	}
}

// measureStripped is measureManager without managed fields.
func measureStripped(ctx context.Context, w *managed) error {
	opts := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if w.job.Engine == kinglets {
		w.newCache, opts = ctrlruntime.Options{StripManagedFields: true}.NewCache, cache.Options{}
	}
	return measureManager(false, opts)(ctx, w)
}

// burst measures a burst of events, each of which the handler receives.
func (w *managed) burst(ctx context.Context) error {
	n := burstRounds * w.pods.Len()
	before, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	reached := w.expect(n)
	cost, err := w.job.phase("burst", func() error {
		if _, err := w.control.Burst(ctx, replay.Protobuf, n, false); err != nil {
			return err
		}
		return w.wait(ctx, reached)
	})
	if err != nil {
		return err
	}
	after, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	if after.Events-before.Events != int64(n) || after.Initial+after.Lists != before.Initial+before.Lists {
		return fmt.Errorf("the server sent %d events meanwhile, not %d, or answered a list", after.Events-before.Events, n)
	}
	w.figures["event"] = cost.CPU * 1e6 / float64(n)
	return nil
}

// measureNamespaces measures the start of a manager that has all namespaces one by
// one.
func measureNamespaces(ctx context.Context, w *managed) error {
	opts := cache.Options{DefaultNamespaces: map[string]cache.Config{}}
	for _, ns := range w.pods.Namespaces() {
		opts.DefaultNamespaces[ns] = cache.Config{}
	}
	counts, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	before, err := goroutines()
	if err != nil {
		return err
	}
	cost, err := w.job.phase("start", func() error { return w.start(ctx, w.config(true), opts, byNode) })
	if err != nil {
		return err
	}
	after, err := goroutines()
	if err != nil {
		return err
	}
	f := w.figures
	f["wall"], f["cpu"], f["peak"] = cost.Wall, cost.CPU, cost.Peak/megabyte
	f["goroutines"], f["streams"] = after.own-before.own, after.http-before.http
	f["watches"], err = w.watchesSince(ctx, counts)
	return err
}

// watchesSince returns how many watches the server has been asked for since it had
// counted so many.
func (w *managed) watchesSince(ctx context.Context, before replay.Counts) (float64, error) {
	after, err := w.control.Counts(ctx)
	return float64(after.Initial + after.Watches - before.Initial - before.Watches), err
}

// census counts goroutines: those of net/http, of which each stream has some on
// either side, and all others.
type census struct{ http, own float64 }

func goroutines() (c census, err error) {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		return c, err
	}
	for one := range strings.SplitSeq(text.String(), "\n\n") {
		// The last two lines are the function that was started, and who did it.
		lines := strings.Split(strings.TrimSpace(one), "\n")
		if by := lines[max(0, len(lines)-2)]; strings.Contains(by, "net/http") || strings.Contains(by, "http2") {
			c.http++
		} else {
			c.own++
		}
	}
	return c, nil
}

// measureForms measures a metadata-only informer beside a typed one of all pods.
func measureForms(ctx context.Context, w *managed) error {
	counts, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	empty, _, err := process.Settle()
	if err != nil {
		return err
	}
	if err := w.start(ctx, w.config(true), cache.Options{}, byNode); err != nil {
		return err
	}
	typed, _, err := process.Settle()
	if err != nil {
		return err
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	// It returns when the informer has synced.
	if _, err := w.manager.GetCache().GetInformer(ctx, partial); err != nil {
		return err
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := w.manager.GetClient().List(ctx, &list, client.InNamespace(w.pods.Namespaces()[0])); err != nil {
		return err
	}
	if from, to := w.pods.In(w.pods.Namespaces()[0]); len(list.Items) != to-from {
		return fmt.Errorf("%d pods in the first namespace, not %d", len(list.Items), to-from)
	}
	list = metav1.PartialObjectMetadataList{}
	both, _, err := process.Settle()
	if err != nil {
		return err
	}
	maps.Copy(w.figures, measure{
		"typed": (typed - empty) / float64(w.pods.Len()), "metadata": (both - typed) / float64(w.pods.Len()),
		"more": 100 * (both - typed) / (typed - empty),
	})
	w.figures["watches"], err = w.watchesSince(ctx, counts)
	return err
}
