package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// idle is a side at work, in this process.
type idle interface {
	// synced waits until everything is in, and checks that it is.
	synced(ctx context.Context) error
	// behind returns how many have not seen version.
	behind(version string) int
	// stop ends all of it.
	stop()
}

// side begins n watches, each of a namespace with so many objects.
type side func(ctx context.Context, client *rest.RESTClient, n, objects int) (idle, error)

var sides = map[string]side{
	"streams":   startStreams,
	"kinglet":   startKinglet,
	"client-go": startClientGo,
	"objects":   startObjects,
	"nothing":   startNothing,
}

// watches is whether a side does.
func watches(name string) bool { return name != "objects" && name != "nothing" }

// measureStdio measures one side; where the server is comes as input.
func measureStdio(ctx context.Context, o *options) error {
	var at Endpoint
	if err := json.NewDecoder(os.Stdin).Decode(&at); err != nil {
		return fmt.Errorf("where is the server: %w", err)
	}
	f, err := measure(ctx, o, at)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

func measure(ctx context.Context, o *options, at Endpoint) (f Footprint, err error) {
	start := sides[o.measure]
	if start == nil {
		return f, fmt.Errorf("no side %q", o.measure)
	}
	client, err := clientFor(at)
	if err != nil {
		return f, err
	}
	within, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	running, err := start(ctx, client, o.n, o.objects)
	if err != nil {
		return f, err
	}
	defer running.stop()
	if err := running.synced(within); err != nil {
		return f, err
	}
	open, err := ask(within, client.Post().AbsPath("/api/v1/bookmark"))
	if err != nil {
		return f, err
	}
	if !watches(o.measure) {
		o.settle = 0
	} else if open.Watches != o.n || open.HTTP2 != o.n {
		return f, fmt.Errorf("%d watches are open, %d of them over HTTP/2, not %d", open.Watches, open.HTTP2, o.n)
	}
	if err := told(within, running, open.Version); err != nil {
		return f, err
	}
	select {
	case <-time.After(o.settle):
	case <-ctx.Done():
		return f, ctx.Err()
	}
	if f, err = takeFootprint(); err != nil {
		return f, err
	}
	f.Streams = open
	if shown, ok := running.(interface{ status() time.Duration }); ok {
		f.Status = shown.status()
	}
	if o.profile != "" {
		return f, writeProfiles(o.profile)
	}
	return f, nil
}

// told waits until everybody has seen version, of which nobody sends word.
func told(ctx context.Context, running idle, version string) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		n := running.behind(version)
		if n == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%d have not seen the bookmark of version %s: %w", n, version, ctx.Err())
		}
	}
}

// clientFor returns what all sides share: one client without a rate limit.
func clientFor(at Endpoint) (*rest.RESTClient, error) {
	gv := corev1.SchemeGroupVersion
	return rest.RESTClientFor(&rest.Config{
		Host: at.URL, APIPath: "/api", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: at.CA},
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &gv,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
			ContentType:          "application/vnd.kubernetes.protobuf",
		},
	})
}

func ask(ctx context.Context, req *rest.Request) (st Streams, err error) {
	b, err := req.SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(b, &st)
}

func namespaceOf(i int) string { return fmt.Sprintf("tenant-%04d", i) }
