package source

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestASourceSaysHowItReadsAndWhyNotFaster: every way to the wire, and every way
// off it, in lists and watches, also through whatever is made of the source.
func TestASourceSaysHowItReadsAndWhyNotFaster(t *testing.T) {
	var asked []string
	handler := negotiated(&asked, podList("3", "a"), pod("ns", "b", "4"))
	onlyJSON := func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Accept", runtime.ContentTypeJSON)
		handler(w, r)
	}
	rest := func(h http.HandlerFunc, opts Options) Source[*corev1.Pod] {
		return must(FromConfig[*corev1.Pod](serve(t, h), podGVR, opts))
	}
	closed := func(lw ListerWatcher) Source[*corev1.Pod] {
		return must(FromListerWatcher[*corev1.Pod](lw, Options{}))
	}
	open := func(lw ListerWatcher) Source[*corev1.Pod] {
		src, _ := intercepted(lw)
		return src
	}
	through := podClosures(wrapped(serve(t, handler)))
	plain := podClosures(serve(t, handler))
	// asking is closures that ask with other options than they were given.
	asking := func(change func(*metav1.ListOptions)) ListerWatcher {
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				change(&o)
				return through.ListWithContextFunc(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				change(&o)
				return through.WatchFuncWithContext(ctx, o)
			},
		}
	}
	for _, tc := range []struct {
		name string
		src  Source[*corev1.Pod]
		path Path
		why  error  // if not nil, what Why is
		says string // if not empty, what Why says
		lost bool
	}{
		{name: "protobuf", src: rest(handler, Options{}), path: PathProtobuf},
		{name: "JSON", src: rest(onlyJSON, Options{}), path: PathJSON},
		{name: "protobuf, sharing off", src: rest(handler, Options{DisableSharing: true}), path: PathProtobuf, why: ErrSharingDisabled},
		{name: "JSON, sharing off", src: rest(onlyJSON, Options{DisableSharing: true}), path: PathJSON, why: ErrSharingDisabled},
		{name: "closures", src: closed(plain), path: PathClient, why: ErrNoInterceptor},
		{name: "an interceptor", src: open(through), path: PathProtobuf},
		{name: "an interceptor of a client without the transport", src: open(plain), path: PathClient, why: ErrNotIntercepted, lost: true},
		{name: "an interceptor of closures without a context", src: open(closures{
			list:  func(o metav1.ListOptions) (runtime.Object, error) { return through.ListWithContext(t.Context(), o) },
			watch: func(o metav1.ListOptions) (watch.Interface, error) { return through.WatchWithContext(t.Context(), o) },
		}), path: PathClient, why: ErrNotIntercepted, says: "takes none", lost: true},
		{name: "an interceptor of closures that hold decoded objects", src: open(&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return podList("3", "a"), nil },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewFake()
				go func() { w.Add(pod("ns", "b", "4")); w.Stop() }()
				return w, nil
			},
		}), path: PathClient, why: ErrNotIntercepted, lost: true},
		{name: "an interceptor of closures that ask for something else", src: open(asking(func(o *metav1.ListOptions) { o.ResourceVersion = "1" })),
			path: PathClient, says: "resourceVersion of the request", lost: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, src := range []Source[*corev1.Pod]{
				tc.src,
				Map(tc.src, func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil }),
			} {
				var last ReadPath
				onPath := func(p ReadPath) { last = p }
				check := func(what string) {
					t.Helper()
					if last.Path != tc.path || !last.Since.IsZero() || last.Lost() != tc.lost ||
						(tc.why != nil || tc.says != "") != (last.Why != nil) ||
						tc.why != nil && !errors.Is(last.Why, tc.why) || tc.says != "" && !strings.Contains(last.Why.Error(), tc.says) {
						t.Errorf("%T: %s: %v because of %v", src, what, last.Path, last.Why)
					}
				}
				if err := src.List(t.Context(), ListRequest[*corev1.Pod]{OnPath: onPath}, func(Page[*corev1.Pod]) error {
					check("before a page is there")
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				check("list")
				last = ReadPath{}
				if err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{OnPath: onPath}, func([]Event[*corev1.Pod]) error {
					check("before an event is there")
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				check("watch")
			}
		})
	}
}

func TestATypeThatDecodesItselfSaysSo(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	dec := must(newDecoder[*kindByHand](gv, &Options{}))
	var last ReadPath
	body := strings.NewReader(string(kindList[kindByHand](true)))
	if err := dec.list(false, body, nil, func(p ReadPath) { last = p }, func(Page[*kindByHand]) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if last.Path != PathJSON || !last.Lost() || !strings.Contains(last.Why.Error(), "apimachinery") {
		t.Errorf("%v because of %v", last.Path, last.Why)
	}
}

// TestAnInterceptorThatIsOffSaysWhy and that a request failed says nothing.
func TestAnInterceptorThatIsOffSaysWhy(t *testing.T) {
	var accepts []string
	lw := podClosures(wrapped(serve(t, negotiated(&accepts, podList("3", "a")))))
	inner := lw.ListWithContextFunc
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		l, err := inner(ctx, o)
		if err == nil {
			l.(*corev1.PodList).ResourceVersion += "0"
		}
		return l, err
	}
	src, _ := intercepted(lw)
	var paths []ReadPath
	req := ListRequest[*corev1.Pod]{OnPath: func(p ReadPath) { paths = append(paths, p) }}
	if _, err := list(t, src, req); !errors.Is(err, ErrPostProcessed) {
		t.Fatal(err)
	}
	if _, err := list(t, src, req); err != nil {
		t.Fatal(err)
	}
	if len(paths) != 2 || paths[0].Path != PathProtobuf || paths[1].Path != PathClient || !errors.Is(paths[1].Why, ErrPostProcessed) {
		t.Errorf("%+v", paths)
	}
	refused := must(FromListerWatcher[*corev1.Pod](podClosures(serve(t, http.NotFound)), Options{}))
	paths = nil
	if _, err := list(t, refused, req); err == nil || len(paths) != 0 {
		t.Errorf("%v: %+v", err, paths)
	}
}

// passedOn is a source that keeps its last requests.
type passedOn struct {
	Source[*corev1.Pod]
	list  ListRequest[*corev1.Pod]
	watch WatchRequest[*corev1.Pod]
}

func (p *passedOn) List(_ context.Context, req ListRequest[*corev1.Pod], _ func(Page[*corev1.Pod]) error) error {
	p.list = req
	return nil
}

func (p *passedOn) Watch(_ context.Context, req WatchRequest[*corev1.Pod], _ func([]Event[*corev1.Pod]) error) error {
	p.watch = req
	return nil
}

// TestWhatIsMadeOfASourcePassesOnAllOfARequest, fields that are yet to come
// included; Held alone is not for a source whose objects are changed.
func TestWhatIsMadeOfASourcePassesOnAllOfARequest(t *testing.T) {
	nowhere := must(FromConfig[*corev1.Pod](&rest.Config{Host: "localhost"}, podGVR, Options{}))
	at := &passedOn{Source: nowhere}
	var lr ListRequest[*corev1.Pod]
	var wr WatchRequest[*corev1.Pod]
	for _, req := range []any{&lr, &wr} {
		v := reflect.ValueOf(req).Elem()
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue // this package's own, for one request of several
			}
			switch f := v.Field(i); f.Kind() {
			case reflect.String:
				f.SetString("set")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int64:
				f.SetInt(7)
			case reflect.Func:
				f.Set(reflect.MakeFunc(f.Type(), nil))
			default:
				t.Fatalf("a field of kind %v: teach this test", f.Kind())
			}
		}
	}
	src := Map[*corev1.Pod](at, func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil })
	_ = src.List(t.Context(), lr, nil)
	_ = src.Watch(t.Context(), wr, nil)
	for _, got := range []any{at.list, at.watch} {
		v := reflect.ValueOf(got)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if want := name != "Held"; v.Type().Field(i).IsExported() && v.Field(i).IsZero() == want {
				t.Errorf("%s of a %T is passed on: %v", name, got, !want)
			}
		}
	}
}
