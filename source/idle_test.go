package source

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// serveTLS starts a server that speaks HTTP/2 and holds every watch open
// after so many events. It returns how many bytes those are as well.
func serveTLS(t testing.TB, events int) (*rest.Config, int) {
	frame := bytes.Repeat(protoFrame("ADDED", pod("ns", "a", "1")), events)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.Write(frame)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	srv.EnableHTTP2 = true
	srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 10_000}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, len(frame)
}

// footprint is what n streams, opened by start and waiting, cost on the
// client's side: goroutines, and bytes of heap and stack in use. The goroutines are those of start and all that they started,
// which have its label from there; so a server's do not count, nor do those of
// an earlier test that have not gone yet.
func footprint(t testing.TB, n int, start func(ctx context.Context, waiting func()) error) (goroutines int, bytes int64) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	measure := func() (int, int64) {
		// The second one empties what pools have kept beyond the first.
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return labelled(t, t.Name()), int64(m.HeapAlloc + m.StackInuse)
	}
	var open, done sync.WaitGroup
	run := func() {
		open.Add(1)
		done.Go(func() {
			pprof.Do(ctx, pprof.Labels(streamOf, t.Name()), func(ctx context.Context) {
				if err := start(ctx, sync.OnceFunc(open.Done)); err != context.Canceled {
					t.Error(err)
				}
			})
		})
	}
	// The first one pays for the connection.
	run()
	open.Wait()
	g0, b0 := measure()
	for range n {
		run()
	}
	open.Wait()
	g1, b1 := measure()
	cancel()
	done.Wait()
	return g1 - g0, b1 - b0
}

// streamOf is the label of footprint's goroutines.
const streamOf = "stream of"

// labelled counts the goroutines with a value of that label.
func labelled(t testing.TB, value string) int {
	var profile strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	// Each group of goroutines begins with their number, an @ and addresses; the
	// labels are on the next line.
	n, group := 0, 0
	for line := range strings.Lines(profile.String()) {
		if count, _, ok := strings.Cut(line, " @ "); ok {
			group = must(strconv.Atoi(count))
		} else if strings.HasPrefix(line, "# labels:") && strings.Contains(line, strconv.Quote(streamOf)+":"+strconv.Quote(value)) {
			n += group
		}
	}
	return n
}

// TestAnIdleWatchCostsNoGoroutineAndLittleMemory compares watches with bare
// streams, read by one goroutine each, which is what the caller's is. The
// server's memory is in both.
func TestAnIdleWatchCostsNoGoroutineAndLittleMemory(t *testing.T) {
	for name, events := range map[string]int{"after one event": 1, "after a burst": 300} {
		t.Run(name, func(t *testing.T) {
			// Stacks and heaps of a process differ from run to run: the least of three counts.
			most := int64(20 << 10)
			perWatch := idleWatches(t, events)
			for n := 1; n < 3 && perWatch > most; n++ {
				perWatch = idleWatches(t, events)
			}
			if perWatch > most {
				t.Errorf("%d bytes a watch beyond a bare stream", perWatch)
			}
		})
	}
}

// idleWatches returns how many bytes a watch takes beyond a bare stream.
func idleWatches(t *testing.T, events int) int64 {
	const n = 100
	var bareG, watchG int
	var bareB, watchB int64
	// Each in a test of its own, whose server is closed at its end, so that
	// nothing of the first is there when the second one counts.
	t.Run("bare", func(t *testing.T) {
		cfg, size := serveTLS(t, events)
		client := must(rest.HTTPClientFor(cfg))
		bareG, bareB = footprint(t, n, func(ctx context.Context, waiting func()) error {
			req := must(http.NewRequestWithContext(ctx, "GET", cfg.Host+"/api/v1/pods?watch=true", nil))
			resp, err := client.Do(req)
			if err != nil {
				return ctx.Err()
			}
			defer resp.Body.Close()
			if resp.ProtoMajor != 2 {
				t.Errorf("the streams are %s", resp.Proto)
			}
			b := make([]byte, 32)
			for left := size; ; {
				k, err := resp.Body.Read(b)
				if err != nil {
					return ctx.Err()
				}
				if left -= k; left == 0 {
					waiting()
				}
			}
		})
	})
	t.Run("watches", func(t *testing.T) {
		cfg, _ := serveTLS(t, events)
		watchG, watchB = footprint(t, n, func(ctx context.Context, waiting func()) error {
			src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
			// client-go's cache of transports has weak references. A source that
			// waits on a stream does not need its transport, so a collection
			// would take it away from a source that nobody refers to, and the
			// next source would have another, with a connection of its own.
			defer runtime.KeepAlive(src)
			left := events
			return src.Watch(ctx, WatchRequest[*corev1.Pod]{}, func(events []Event[*corev1.Pod]) error {
				if left -= len(events); left == 0 {
					waiting()
				}
				return nil
			})
		})
	})
	perWatch := (watchB - bareB) / n
	t.Logf("%d watches: %d goroutines (%d bare), %d bytes each beyond a bare stream", n, watchG, bareG, perWatch)
	// The stream's own two are the reader, and one of net/http's.
	if watchG != bareG || bareG != 2*n {
		t.Errorf("%d goroutines, and %d of bare streams, want %d", watchG, bareG, 2*n)
	}
	return perWatch
}

func TestAWaitingWatchKeepsNoObjectAlive(t *testing.T) {
	for _, c := range codecs() {
		for _, events := range []int{1, 20, 2000} {
			body := bytes.Repeat(c.frame("ADDED", pod("ns", "a", "1")), events)
			r, w := io.Pipe()
			var seen []weak.Pointer[corev1.Pod]
			delivered := make(chan struct{})
			done := make(chan error, 1)
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
			go func() {
				done <- dec.watch(r, nil, nil, func(batch []Event[*corev1.Pod]) error {
					for _, e := range batch {
						seen = append(seen, weak.Make(e.Object))
					}
					if len(seen) == events {
						close(delivered)
					}
					return nil
				})
			}()
			// The pipe returns once everything was read, and takes the newline
			// that follows once the watch is back to waiting.
			w.Write(body)
			<-delivered
			w.Write([]byte(" "))
			runtime.GC()
			alive := 0
			for _, p := range seen {
				if p.Value() != nil {
					alive++
				}
			}
			if alive > 0 {
				t.Errorf("%s: %d of %d objects are kept alive", c.name, alive, events)
			}
			w.Close()
			<-done
		}
	}
}
