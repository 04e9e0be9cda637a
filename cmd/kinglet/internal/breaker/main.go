// Command breaker stands between kinglet watch and an API server, and breaks things in
// turn, for hack/demo with DEMO_BREAK=1: one sees the page name each of them. It says
// on stderr what it breaks, and writes a kubeconfig that leads through it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ill is what is broken now.
type ill uint8

const (
	well ill = iota
	away
	forbidden
	silent
	badObject
)

// breaks are played in turn, with a time in between in which all is well.
var breaks = []struct {
	ill  ill
	what string
	// times is for how many times -every it lasts.
	times int
}{
	{away, "the server is away: connections are closed without an answer", 1},
	{forbidden, "access to pods is revoked: 403", 1},
	{badObject, "a pod comes that does not decode", 1},
	{silent, "connections are half open: nothing comes on them. It is known when a bookmark is missing, after a minute", 5},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "breaker:", err)
		os.Exit(1)
	}
}

func run() error {
	from := flag.String("kubeconfig", "", "of the API server")
	to := flag.String("write", "", "the kubeconfig to write")
	every := flag.Duration("every", 20*time.Second, "how long something is broken, and well in between")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *from)
	if err != nil {
		return err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	if err := writeKubeconfig(*to, "http://"+listener.Addr().String()); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	base, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	p := &proxy{base: base, transport: transport}
	p.begin(well)
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go p.play(ctx, *every)
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func writeKubeconfig(path, server string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["broken"] = &clientcmdapi.Cluster{Server: server}
	c.Contexts["broken"] = &clientcmdapi.Context{Cluster: "broken"}
	c.CurrentContext = "broken"
	return clientcmd.WriteToFile(*c, path)
}

// proxy passes on what is not broken.
type proxy struct {
	base      *url.URL
	transport http.RoundTripper

	mu  sync.Mutex
	ill ill // guarded by mu
	// over ends when something else is broken, or is well again; guarded by mu.
	over context.Context
	next context.CancelFunc // guarded by mu
}

// begin breaks something else; connections of before end, but where they are to fall
// silent.
func (p *proxy) begin(i ill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		p.next()
	}
	p.ill = i
	p.over, p.next = context.WithCancel(context.Background())
}

func (p *proxy) now() (ill, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ill, p.over
}

func (p *proxy) play(ctx context.Context, every time.Duration) {
	wait := func(d time.Duration) bool {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	for {
		for _, b := range breaks {
			if !wait(every) {
				return
			}
			fmt.Fprintf(os.Stderr, "\nbreaking now: %s\n", b.what)
			p.begin(b.ill)
			if !wait(time.Duration(b.times) * every) {
				return
			}
			fmt.Fprintln(os.Stderr, "\nwell again")
			p.begin(well)
		}
	}
}

// ServeHTTP passes a request on.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, over := p.now()
	pods := strings.HasSuffix(r.URL.Path, "/pods")
	watch := r.URL.Query().Get("watch") != ""
	switch {
	case i == away:
		panic(http.ErrAbortHandler)
	case i == forbidden && pods:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods is forbidden: User \"system:serviceaccount:demo:watcher\" cannot list resource \"pods\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"kind":"pods"},"code":403}`)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(over, cancel)()
	out := r.Clone(ctx)
	out.RequestURI, out.URL.Scheme, out.URL.Host, out.Host = "", p.base.Scheme, p.base.Host, p.base.Host
	if watch {
		out.Header.Set("Accept", "application/json") // in which the bad object is
	}
	response, err := p.transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	for k, v := range response.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(w).Flush
	if i == badObject && pods && watch {
		fmt.Fprint(w, `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"demo","name":"bad","resourceVersion":"1"},"spec":{"priority":1e9999}}}`+"\n")
	}
	_ = flush()
	p.pass(w, response.Body, flush, i == silent && watch, over)
}

// pass copies until either side has ended; where the watch is to be silent, nothing is
// copied, and both sides stay.
func (p *proxy) pass(w io.Writer, body io.Reader, flush func() error, mute bool, over context.Context) {
	if mute {
		<-over.Done()
		panic(http.ErrAbortHandler)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if _, failed := io.Copy(w, bytes.NewReader(buf[:n])); failed != nil || flush() != nil {
			return
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
