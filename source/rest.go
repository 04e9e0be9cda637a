package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/connection"
)

// FromConfig returns a source that reads the resource gvr of the server that
// cfg names. T is a typed object (*corev1.Pod), *unstructured.Unstructured or
// *metav1.PartialObjectMetadata, which also decides the encoding: protobuf
// with JSON as second choice for types that can be read from it and for
// metadata, JSON for all others. If cfg names AcceptContentTypes, only these are
// asked for; it is an error if T can be read from none of them. cfg's ContentType
// is ignored. Its Timeout limits lists, not watches.
//
// cfg is copied. Sources made from equal configurations share connections, as
// client-go's clients do, unless cfg has a Dial function or a transport of its
// own. Each source has a rate limiter to itself, unless cfg has a RateLimiter.
// To share more, make one client and use FromREST.
func FromConfig[T any](cfg *rest.Config, gvr schema.GroupVersionResource, opts Options) (Source[T], error) {
	var errs []error
	if cfg == nil {
		errs = append(errs, errors.New("no rest.Config"))
	}
	if gvr.Version == "" {
		errs = append(errs, fmt.Errorf("%s has no version", gvr.GroupResource()))
	}
	errs = append(errs, validResource(gvr.Resource), opts.validate())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("source of %s: %w", gvr.GroupResource(), err)
	}
	cfg = rest.CopyConfig(cfg)
	gv := gvr.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	// client-go decodes only the server's errors here. This codec is the
	// smallest that knows a Status, and the process has one anyway.
	cfg.NegotiatedSerializer = metainternalscheme.Codecs.WithoutConversion()
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	timeout := cfg.Timeout
	cfg.Timeout = 0
	connection.EnablePings(cfg)
	// Below all other wrappers.
	cfg.WrapTransport = transport.Wrappers(connection.Wrap, cfg.WrapTransport)
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("source of %s: %w", gvr.GroupResource(), err)
	}
	return fromREST[T](client, gvr.Resource, timeout, opts)
}

// FromREST is FromConfig with a client that exists already, such as
// clientset.CoreV1().RESTClient(). Requests go through it with its
// authentication, rate limit (lists only), AcceptContentTypes and error
// decoding; the client has to be one of the group and version of the resource.
// A Timeout of its HTTP client ends watches too.
func FromREST[T any](client rest.Interface, resource string, opts Options) (Source[T], error) {
	var errs []error
	if isNil(client) {
		// A fake clientset returns a nil pointer.
		errs = append(errs, errors.New("no client"))
	}
	errs = append(errs, validResource(resource), opts.validate())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("source of %s: %w", resource, err)
	}
	if c, ok := client.(*rest.RESTClient); ok {
		client = through(c, connection.Wrap)
	}
	return fromREST[T](client, resource, 0, opts)
}

func validResource(resource string) error {
	if resource == "" {
		return errors.New("no resource")
	}
	for _, msg := range rest.IsValidPathSegmentName(resource) {
		return fmt.Errorf("resource %q %s", resource, msg)
	}
	return nil
}

func fromREST[T any](client rest.Interface, resource string, timeout time.Duration, opts Options) (Source[T], error) {
	gv := client.APIVersion()
	name := opts.describe(schema.GroupResource{Group: gv.Group, Resource: resource}.String())
	dec, err := newDecoder[T](gv, &opts)
	if err != nil {
		return nil, fmt.Errorf("source of %s: %w", name, err)
	}
	s := &restSource[T]{client: client, resource: resource, gv: gv, timeout: timeout, opts: opts, name: name, dec: dec}
	s.traits = Traits{
		Sharing: opts.Sharing, DisableSharing: opts.DisableSharing, Shared: dec.codec.sharing,
		Resource: gv.WithResource(resource), Secrets: resource == secrets,
		ExactLists: true, NoWatchList: dec.codec.labels != nil, Whole: opts.whole(), CheckIndex: opts.IndexCheck(dec.codec.kind.new()),
	}
	if dec.codec.whole != nil {
		s.traits.Reduce = dec.codec.reduced
	}
	s.lister = wholeLister[T]{selection: &dec.codec.selection, list: s.list}
	named := acceptHeader(client.Get())
	if s.acceptList, err = dec.codec.accept(named, false, false); err == nil {
		s.acceptWatch, err = dec.codec.accept(named, true, false)
	}
	if err == nil {
		s.acceptMetadata, err = dec.codec.accept(named, false, true)
	}
	if err != nil {
		return nil, fmt.Errorf("source of %s: %w", name, err)
	}
	return s, nil
}

// restSource makes its requests through client-go. Its decoder reads the body of
// every 200.
type restSource[T any] struct {
	client   rest.Interface
	resource string
	gv       schema.GroupVersion
	// timeout of a list, 0 for none.
	timeout time.Duration
	opts    Options
	name    string
	dec     *decoder[T]
	traits  Traits
	route   connection.Route
	lister  wholeLister[T]
	// acceptList, acceptWatch and acceptMetadata are the Accept headers of requests.
	acceptList, acceptWatch, acceptMetadata string
}

func (s *restSource[T]) Traits() Traits { return s.traits }

func (s *restSource[T]) String() string { return s.name }

// List implements Source. It is subject to the client's rate limit, and repeated while
// the server answers with a Retry-After of half a minute at most, ten times, unless
// req.Once is set. A refusal is returned as an apierrors.APIStatus.
func (s *restSource[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	return s.lister.List(ctx, req, yield)
}

// list makes one request.
func (s *restSource[T]) list(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	within := ctx
	if s.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	lo := listOptions(&s.opts, req)
	accept := s.acceptList
	if req.metadata {
		accept = s.acceptMetadata
	}
	var body io.ReadCloser
	err := repeated(within, req.Once, func() (_ time.Duration, err error) {
		body, err = s.request(&lo, accept).MaxRetries(0).Stream(within)
		return retryAfter(err), err
	})
	if err != nil {
		return failed(ctx, err)
	}
	defer body.Close()
	y := yielding[Page[T]]{ctx: ctx, yield: yield}
	err = s.dec.list(req.metadata, body, req.Held, req.OnPath, y.send)
	if err == nil || y.stopped {
		return err
	}
	return failed(ctx, err)
}

// Watch implements Source. Like client-go's watches, it is not subject to the
// client's rate limit. A refusal is returned at once, whatever Retry-After says.
func (s *restSource[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	body, err := s.openWatch(ctx, &req)
	if err != nil {
		return notOpened(ctx, err)
	}
	defer body.Close()
	y := yielding[[]Event[T]]{ctx: ctx, yield: yield}
	err = s.dec.watch(body, req.Held, req.OnPath, y.send)
	if y.stopped {
		return err
	}
	// A server that sees the end of ctx first ends its answer well.
	return failed(ctx, err)
}

// openWatch is a function of its own so that its stack frame is gone while the
// watch lasts.
//
//go:noinline
func (s *restSource[T]) openWatch(ctx context.Context, req *WatchRequest[T]) (io.ReadCloser, error) {
	lo := watchOptions(&s.opts, *req)
	ctx, body := connection.Watch(ctx, &s.route, s.opts.maxDelay(), req.SendInitialEvents)
	stream, err := s.request(&lo, s.acceptWatch).Throttle(nil).MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return body.Over(stream), nil
}

func (s *restSource[T]) request(lo *metav1.ListOptions, accept string) *rest.Request {
	return s.client.Get().
		NamespaceIfScoped(s.opts.Namespace, s.opts.Namespace != "").
		Resource(s.resource).
		SpecificallyVersionedParams(lo, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", accept)
}

// acceptHeader returns the Accept header that a request has from its client's
// configuration. client-go has no accessor for it. If a version of client-go keeps
// it elsewhere, the result is empty, as if the configuration named no types.
func acceptHeader(req *rest.Request) string {
	headers := reflect.Indirect(reflect.ValueOf(req)).FieldByName("headers")
	if !headers.IsValid() || headers.Type() != reflect.TypeFor[http.Header]() {
		return ""
	}
	values := headers.MapIndex(reflect.ValueOf("Accept"))
	if !values.IsValid() {
		return ""
	}
	var all []string
	for i := range values.Len() {
		all = append(all, values.Index(i).String())
	}
	return strings.Join(all, ",")
}

// failed returns ctx's error if ctx has ended, since that explains err; else err.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// notOpened is failed for a watch that never was open. That ctx ended it before any answer came
// remains known: then it is a *url.Error.
func notOpened(ctx context.Context, err error) error {
	request, ok := errtype.As[*url.Error](err)
	if err = failed(ctx, err); ok && ctx.Err() != nil {
		return &url.Error{Op: request.Op, URL: request.URL, Err: err}
	}
	return err
}

// yielding calls yield while ctx lasts. stopped reports that ctx or yield ended
// the stream.
type yielding[V any] struct {
	ctx     context.Context
	yield   func(V) error
	stopped bool
}

func (y *yielding[V]) send(v V) error {
	err := y.ctx.Err()
	if err == nil {
		err = y.yield(v)
	}
	y.stopped = err != nil
	return err
}
