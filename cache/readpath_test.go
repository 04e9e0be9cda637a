package cache

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
)

// anotherPath is in the line that is logged when objects are read another way.
const anotherPath = "Objects are read another way"

// generated are the closures of a generated informer.
func generated(client kubernetes.Interface) *ListWatch {
	pods := client.CoreV1().Pods("ns")
	return &ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = notGone.String()
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = notGone.String()
			return pods.Watch(ctx, o)
		},
	}
}

// onlyGetter is a REST client's Get and nothing else.
type onlyGetter struct{ get Getter }

func (g onlyGetter) Get() *rest.Request { return g.get.Get() }

// throughTransport returns a client of another one's server, with the transport.
func throughTransport(t *testing.T, of kubernetes.Interface) kubernetes.Interface {
	t.Helper()
	host := of.CoreV1().RESTClient().Get().URL()
	cfg := &rest.Config{Host: host.Scheme + "://" + host.Host}
	cfg.Wrap(source.WrapTransport)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestAnInformersStatusShowsHowItReads and why, if not from the wire.
func TestAnInformersStatusShowsHowItReads(t *testing.T) {
	proto := podServer(t, runtime.ContentTypeProtobuf)
	text := podServer(t, runtime.ContentTypeJSON)
	through := throughTransport(t, proto)
	pods, unknown := corev1.SchemeGroupVersion.WithResource("pods"), schema.GroupVersionResource{}
	fromClient := func(c Getter) ListerWatcher { return NewListWatchFromClient(c, "pods", "ns", notGone) }
	for _, tc := range []struct {
		name string
		lw   ListerWatcher
		path source.Path
		why  error
		// environment is the value of KINGLET_DISABLE_FAST_PATH.
		environment string
		// quietly and aloud are how many lines there are at verbosity 0 and 2.
		quietly, aloud int
		// resource is what it is known to list, before it starts and when it reads.
		before, reading schema.GroupVersionResource
	}{
		{"from a client, in protobuf", fromClient(proto.CoreV1().RESTClient()), source.PathProtobuf, nil, "", 0, 0, pods, pods},
		{"from a client, in JSON", fromClient(text.CoreV1().RESTClient()), source.PathJSON, nil, "", 0, 0, pods, pods},
		{"from a client that knows watch-lists", ToListWatcherWithWatchListSemantics(NewListWatchFromClient(proto.CoreV1().RESTClient(), "pods", "ns", notGone), proto), source.PathProtobuf, nil, "", 0, 0, pods, pods},
		{"from what is no REST client", fromClient(onlyGetter{proto.CoreV1().RESTClient()}), source.PathClient, errNotREST, "", 0, 1, unknown, unknown},
		{"closures of a client with the transport", generated(through), source.PathProtobuf, nil, "", 0, 0, unknown, pods},
		{"closures of a client without it", generated(proto), source.PathClient, source.ErrNotIntercepted, "", 0, 1, unknown, unknown},
		{"from a client, disabled", fromClient(proto.CoreV1().RESTClient()), source.PathClient, errDisabled, "yes", 0, 1, pods, pods},
		{"closures of a client with the transport, disabled", generated(through), source.PathClient, errDisabled, "1", 0, 1, unknown, unknown},
		{"from a client, not disabled", fromClient(proto.CoreV1().RESTClient()), source.PathProtobuf, nil, "false", 0, 0, pods, pods},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(disableFastPath, tc.environment)
			for verbosity, want := range map[int]int{0: tc.quietly, pathVerbosity: tc.aloud} {
				log := &testkit.Log{}
				made := NewSharedIndexInformer(tc.lw, &corev1.Pod{}, 0, Indexers{}).(Observable)
				if got := made.Status().Resource; got != tc.before {
					t.Errorf("before it starts it lists %v", got)
				}
				status := statusOnceSynced(t, tc.lw, &corev1.Pod{}, verbosity, log)
				if status.Resource != tc.reading {
					t.Errorf("it lists %v", status.Resource)
				}
				got := status.ReadPath
				if got.Path != tc.path || (got.Why == nil) != (tc.why == nil) || !errors.Is(got.Why, tc.why) || got.Since.IsZero() {
					t.Errorf("%v since %v because of %v", got.Path, got.Since, got.Why)
				}
				if n := log.Count(anotherPath); n != want {
					t.Errorf("%d lines at verbosity %d, want %d", n, verbosity, want)
				}
			}
		})
	}
}

func statusOnceSynced(t *testing.T, lw ListerWatcher, example runtime.Object, verbosity int, log *testkit.Log) kinglet.Status {
	t.Helper()
	inf := NewSharedIndexInformer(lw, example, 0, Indexers{})
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(verbosity)))
	defer start(func(ctx context.Context) { inf.RunWithContext(klog.NewContext(ctx, logger)) })()
	if !WaitFor(t.Context(), "", inf.HasSyncedChecker()) {
		t.Fatal("not synced")
	}
	return inf.(Observable).Status()
}

// TestThatTheWireIsLeftIsLoggedOnce: what was read from it first cannot be.
func TestThatTheWireIsLeftIsLoggedOnce(t *testing.T) {
	client := podServer(t, runtime.ContentTypeProtobuf)
	log := &testkit.Log{}
	// The server has pods, whatever the example says.
	status := statusOnceSynced(t, NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone), &corev1.Node{}, 0, log)
	if got := status.ReadPath; got.Path != source.PathClient || !errors.As(got.Why, new(*source.InterceptError)) || !errors.As(got.Why, new(*source.KindError)) {
		t.Errorf("%v because of %v", got.Path, got.Why)
	}
	if n := log.Count(anotherPath); n != 1 {
		t.Errorf("%d lines", n)
	}
}
