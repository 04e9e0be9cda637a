package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// drainRead is how much is read at once: more than a busy connection has.
const drainRead = 256 << 10

// measureDrain only reads and throws away: what no client can be cheaper or
// faster than, and a proof that it is not the server that is measured.
func measureDrain(ctx context.Context, j *job) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	cfg := config(&j.Setup, j.Endpoint)
	client, err := drainClient(j.Setup.Transport, cfg)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	url := cfg.Host + "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", j.Setup.Encoding.MediaType())
	f := figures{}
	start := time.Now()
	used, err := process.CPU()
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server says %s", resp.Status)
	}
	d := &drainer{body: resp.Body, buf: make([]byte, drainRead)}
	if f[syncCPU], err = d.take(j.Prepared.Initial, used); err != nil {
		return nil, err
	}
	f[syncWall] = time.Since(start).Seconds()
	if j.Setup.Rounds == 0 {
		return f, nil
	}
	n := j.Setup.Rounds * j.Setup.Pods.Pods
	control := replay.Control{Endpoint: j.Endpoint}
	before, err := control.Counts(ctx)
	if err != nil {
		return nil, err
	}
	if used, err = process.CPU(); err != nil {
		return nil, err
	}
	b, err := control.Burst(ctx, j.Setup.Encoding, n, j.Setup.Gathered)
	if err != nil {
		return nil, err
	}
	cpu, err := d.take(b.Bytes, used)
	if err != nil {
		return nil, err
	}
	f[burstRate] = float64(n) / time.Since(b.Began).Seconds()
	f[burstCPU] = cpu * 1e6 / float64(n)
	after, err := control.Counts(ctx)
	if err != nil {
		return nil, err
	}
	f[serverCPU] = (after.CPU - before.CPU).Seconds() * 1e6 / float64(n)
	return f, nil
}

// drainClient is client-go's, with large reads where there is a way to have
// them.
func drainClient(t transport, cfg *rest.Config) (*http.Client, error) {
	if t == http1 {
		return &http.Client{Transport: &http.Transport{ReadBufferSize: drainRead, DisableCompression: true}}, nil
	}
	return rest.HTTPClientFor(cfg)
}

type drainer struct {
	body io.Reader
	buf  []byte
}

// take reads n bytes and returns the processor time since used, in seconds.
func (d *drainer) take(n int64, used time.Duration) (float64, error) {
	for n > 0 {
		got, err := d.body.Read(d.buf)
		n -= int64(got)
		if err != nil {
			return 0, fmt.Errorf("%d bytes before the end: %w", n, err)
		}
	}
	if n < 0 {
		return 0, fmt.Errorf("%d bytes more than there should be", -n)
	}
	now, err := process.CPU()
	return (now - used).Seconds(), err
}
