// Command breaker stands between kinglet watch and an API server, and breaks things in
// turn, for hack/demo with DEMO_BREAK=1, so that the page is seen to name each fault. It
// says on stderr what it breaks, and writes a kubeconfig that leads through it. The output
// of kinglet watch goes through it as well, so that a handler can be made to stand still.
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

// ill is a fault.
type ill uint8

const (
	well ill = iota
	away
	forbidden
	silent
	badObject
	stalled
)

// breaks are played in turn, with a healthy interval between them. Most watches are left
// alone for three minutes before connections are half open, because an informer notices a
// missing bookmark only after it has received three.
var breaks = []struct {
	ill  ill
	what string
	// before is how long all is well before the fault, and times how long it lasts, in
	// units of -every.
	before, times int
}{
	{badObject, "a pod comes that does not decode", 1, 1},
	{stalled, "nobody reads what kinglet watch prints, so that its handlers stand still once the pipe is full", 1, 2},
	{forbidden, "access to pods is revoked: 403", 1, 1},
	{silent, "connections are half open: nothing comes on them. It is known when a bookmark is missing, after a minute", 3, 5},
	{away, "the server is away: connections are closed without an answer", 1, 1},
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
	output := flag.String("output", "", "a named pipe that kinglet watch prints to; what comes there is printed here")
	every := flag.Duration("every", 20*time.Second, "how long something is broken, and well in between; some last several times as long")
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
	printed := make(chan error, 1)
	go func() { printed <- p.printFrom(*output, os.Stdout) }()
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go p.play(ctx, *every)
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	p.begin(well)
	select {
	case err := <-printed:
		return err
	case <-time.After(lastWords):
		return nil // the pipe was never opened, or kinglet watch goes on
	}
}

// lastWords is how long kinglet watch may go on printing after this program ends.
const lastWords = 3 * time.Second

// printFrom copies a named pipe to its end, if there is one.
func (p *proxy) printFrom(path string, to io.Writer) error {
	if path == "" {
		return nil
	}
	from, err := os.Open(path) // which waits for the other side
	if err != nil {
		return err
	}
	defer from.Close()
	return p.print(to, from)
}

// print copies, and stops reading while handlers are to stand still.
func (p *proxy) print(to io.Writer, from io.Reader) error {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		if i, changed, _ := p.now(true); i == stalled {
			<-changed
		}
		if _, failed := to.Write(buf[:n]); failed != nil {
			return failed
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func writeKubeconfig(path, server string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["broken"] = &clientcmdapi.Cluster{Server: server}
	c.Contexts["broken"] = &clientcmdapi.Context{Cluster: "broken"}
	c.CurrentContext = "broken"
	return clientcmd.WriteToFile(*c, path)
}

// proxy is a reverse proxy that breaks what it passes on.
type proxy struct {
	base      *url.URL
	transport http.RoundTripper

	mu  sync.Mutex
	ill ill // guarded by mu
	// changed is closed when the fault changes or ends; guarded by mu.
	changed chan struct{}
	// pods and others are the open connections; guarded by mu.
	pods, others connections
}

// connections are closed together.
type connections struct {
	ctx context.Context
	end context.CancelFunc
}

// cut closes the open connections. Later ones have another context.
func (c *connections) cut() {
	if c.end != nil {
		c.end()
	}
	c.ctx, c.end = context.WithCancel(context.Background())
}

// begin starts a fault, and cuts the connections that are to meet it. The others go on: a
// new connection on which nothing happens would not show that all is well.
func (p *proxy) begin(i ill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := i == away || p.ill == silent || p.changed == nil
	if all || i == forbidden || i == badObject {
		p.pods.cut()
	}
	if all {
		p.others.cut()
	}
	if p.changed != nil {
		close(p.changed)
	}
	p.ill, p.changed = i, make(chan struct{})
}

// now returns the fault, a channel that is closed when it changes, and the context of a
// connection.
func (p *proxy) now(pods bool) (i ill, changed <-chan struct{}, lasts context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pods {
		return p.ill, p.changed, p.pods.ctx
	}
	return p.ill, p.changed, p.others.ctx
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
			if !wait(time.Duration(b.before) * every) {
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
	pods := strings.HasSuffix(r.URL.Path, "/pods")
	i, _, lasts := p.now(pods)
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
	defer context.AfterFunc(lasts, cancel)()
	out := r.Clone(ctx)
	out.RequestURI, out.URL.Scheme, out.URL.Host, out.Host = "", p.base.Scheme, p.base.Host, p.base.Host
	// A watch of metadata alone, which the lag probe starts, has nothing to damage, and
	// cannot be requested as plain JSON.
	bad := i == badObject && pods && watch && !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	if bad {
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
	_ = flush()
	p.pass(ctx, w, response.Body, flush, watch, bad)
}

// damage makes the spec of the first object in a piece of JSON undecodable. The object
// keeps its name and version: a wrong version is another fault.
func damage(piece []byte) []byte {
	return bytes.Replace(piece, []byte(`"spec":{`), []byte(`"spec":{"priority":1e9999,`), 1)
}

// pass copies until either side has ended. If bad is set, it damages the first object.
// While connections are half open, nothing of a watch is copied and both sides stay open.
func (p *proxy) pass(ctx context.Context, w io.Writer, body io.Reader, flush func() error, watch, bad bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if i, changed, _ := p.now(true); watch && i == silent {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			panic(http.ErrAbortHandler)
		}
		piece := buf[:n]
		if bad {
			piece = damage(piece)
			bad = len(piece) == n // there was no object in it yet
		}
		if _, failed := w.Write(piece); failed != nil || flush() != nil {
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
