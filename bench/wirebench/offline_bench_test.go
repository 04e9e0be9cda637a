package main

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/source"
)

// offline is a source whose bytes are all there: initial events, and then a
// burst in which every key has some versions.
type offline struct {
	initial []byte
	rounds  [][]byte
	began   func(round int)
}

// RoundTrip implements http.RoundTripper. It answers a watch, and refuses a list.
func (o *offline) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "" {
		return nil, io.ErrUnexpectedEOF
	}
	body := &replayed{ctx: r.Context(), left: append([][]byte{o.initial}, o.rounds...), began: o.began}
	header := http.Header{"Content-Type": {runtime.ContentTypeProtobuf}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(body), Request: r}, nil
}

// replayed reads 64 KiB at a time, as a socket gives them.
type replayed struct {
	ctx   context.Context
	left  [][]byte
	part  int
	began func(part int)
	at    int
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		<-r.ctx.Done()
		return 0, r.ctx.Err()
	}
	if r.at == 0 {
		r.began(r.part)
	}
	n := copy(p[:min(len(p), 64<<10)], r.left[0][r.at:])
	if r.at += n; r.at == len(r.left[0]) {
		r.left, r.at = r.left[1:], 0
		r.part++
	}
	return n, nil
}

// BenchmarkOffline is what an event costs an informer from its bytes, which
// are in memory, to the handler: CPU in each round, and the time of all.
func BenchmarkOffline(b *testing.B) {
	c, err := pods.New(pods.Options{Pods: 20_000, Templates: 200})
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 3
	o := &offline{}
	for i := range c.Len() {
		o.initial = appendEvent(o.initial, "ADDED", c.Pod(i, 0))
	}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.VersionAfter(0),
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	o.initial = appendEvent(o.initial, "BOOKMARK", end)
	for r := range rounds {
		var burst []byte
		for e := range c.Len() {
			burst = appendEvent(burst, "MODIFIED", c.Pod(c.Event(r*c.Len()+e)))
		}
		o.rounds = append(o.rounds, slices.Clip(burst))
	}
	// The best of all, since other work on the machine only adds.
	best := map[string]float64{}
	for b.Loop() {
		for what, ns := range o.run(b, c) {
			if best[what] == 0 || ns < best[what] {
				best[what] = ns
			}
			b.ReportMetric(best[what], what)
		}
	}
}

// run returns nanoseconds an event.
func (o *offline) run(b *testing.B, c *pods.Collection) map[string]float64 {
	cfg := &rest.Config{Host: "http://memory", Transport: o}
	src, err := source.FromConfig[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	marks := make([]time.Duration, len(o.rounds)+1)
	var synced chan struct{} = make(chan struct{})
	var start time.Time
	o.began = func(part int) {
		if part == 1 {
			<-synced
			start = time.Now()
		}
		marks[max(part-1, 0)], _ = process.CPU()
	}
	inf, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{
		Indexers: map[string]kinglet.IndexFunc[*corev1.Pod]{
			byNamespace: func(p *corev1.Pod) ([]string, error) { return []string{p.Namespace}, nil },
			secondIndex: func(p *corev1.Pod) ([]string, error) { return nodeOf(p), nil },
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var added, updated atomic.Int64
	events := int64(len(o.rounds) * c.Len())
	_, err = inf.AddHandler(kinglet.HandlerFuncs[*corev1.Pod]{
		OnAdd: func(context.Context, *corev1.Pod, bool) {
			if added.Add(1) == int64(c.Len()) {
				close(synced)
			}
		},
		OnUpdate: func(context.Context, *corev1.Pod, *corev1.Pod) {
			if updated.Add(1) == events {
				cancel()
			}
		},
	}, kinglet.HandlerOptions{EveryVersion: true, Bound: 2 * int(events)})
	if err != nil {
		b.Fatal(err)
	}
	if err := inf.Run(ctx); err != nil {
		b.Fatal(err)
	}
	wall := time.Since(start)
	marks[len(o.rounds)], _ = process.CPU()
	first, later := marks[1]-marks[0], marks[len(o.rounds)]-marks[1]
	return map[string]float64{
		"first-ns": float64(first.Nanoseconds()) / float64(c.Len()),
		"later-ns": float64(later.Nanoseconds()) / float64(events-int64(c.Len())),
		"wall-ns":  float64(wall.Nanoseconds()) / float64(events),
	}
}

// appendEvent appends a protobuf frame.
func appendEvent(b []byte, name string, p *corev1.Pod) []byte {
	p.TypeMeta = metav1.TypeMeta{}
	raw, err := p.Marshal()
	if err != nil {
		panic(err)
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}
	object, err := u.Marshal()
	if err != nil {
		panic(err)
	}
	ev := metav1.WatchEvent{Type: name, Object: runtime.RawExtension{Raw: append([]byte("k8s\x00"), object...)}}
	frame, err := ev.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(frame))), frame...)
}
