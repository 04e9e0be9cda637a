package source

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/errtype"
)

// gadgets are served under a kind that is not the name of their Go type, widget,
// which only the scheme of the ordinary client knows.
var gadgetGV = schema.GroupVersion{Group: "example.com", Version: "v1"}

const (
	gadgetA    = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a","resourceVersion":"5"},"size":1}`
	gadgetB    = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"b","resourceVersion":"6"},"size":2}`
	widgetC    = `{"apiVersion":"example.com/v1","kind":"widget","metadata":{"name":"c","resourceVersion":"7"},"size":3}`
	gadgetList = `{"apiVersion":"example.com/v1","kind":"GadgetList","metadata":{"resourceVersion":"6"},"items":[` + gadgetA + `,` + gadgetB + `]}`
	kindLast   = `{"items":[` + gadgetA + `,` + gadgetB + `],"metadata":{"resourceVersion":"6"},"kind":"GadgetList","apiVersion":"example.com/v1"}`
	widgetList = `{"apiVersion":"example.com/v1","kind":"widgetList","metadata":{"resourceVersion":"6"},"items":[]}`
	gadgetYAML = "apiVersion: example.com/v1\nkind: GadgetList\nmetadata:\n  resourceVersion: \"6\"\nitems:\n" +
		"- metadata:\n    name: a\n- metadata:\n    name: b\n"
)

func gadgetEvent(t EventType, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", t, object)
}

// preferREST is what the from-client constructors of package cache make.
func preferREST(t *testing.T, handler http.HandlerFunc) *Preferred[any] {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, gadgetGV)
	for _, kind := range []string{"Gadget", "widget"} {
		s.AddKnownTypeWithName(gadgetGV.WithKind(kind), &widget{})
		s.AddKnownTypeWithName(gadgetGV.WithKind(kind+"List"), &oddWidgets{})
	}
	cfg := serve(t, handler)
	cfg.APIPath, cfg.GroupVersion = "/apis", &gadgetGV
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(s).WithoutConversion()
	client := must(rest.RESTClientFor(cfg))
	first := must(FromREST[any](client, "gadgets", Options{Example: &widget{}}))
	lw := cache.NewListWatchFromClient(client, "gadgets", "", fields.Everything())
	second := must(FromListerWatcher[any](lw, Options{Example: &widget{}}))
	return must(Prefer(first, second, PreferOptions{}))
}

// ours reports whether the REST source asks.
func ours(r *http.Request) bool { return r.Header.Get("Accept") == runtime.ContentTypeJSON }

func TestAFakeClientsetHasNoClientForREST(t *testing.T) {
	if _, err := FromREST[any]((*rest.RESTClient)(nil), "pods", Options{Example: &corev1.Pod{}}); err == nil {
		t.Error("a nil pointer was taken for a client")
	}
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func sendJSON(w http.ResponseWriter, text string) { answer("application/json", []byte(text))(w, nil) }

func refuse(w http.ResponseWriter, code int) {
	answerStatus(&apierrors.NewGenericServerResponse(code, "list", schema.GroupResource{}, "", "", 0, true).ErrStatus)(w, nil)
}

func keysOf[T any](items []Item[T]) string {
	var names []string
	for _, it := range items {
		name := it.Key.Name
		if it.Err != nil {
			name += "!"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestWhatRESTCannotReadIsReadTheOrdinaryWayForGood(t *testing.T) {
	aKind := func(err error) bool { _, is := errtype.As[*KindError](err); return is }
	for _, tc := range []struct {
		name   string
		list   http.HandlerFunc
		watch  http.HandlerFunc
		reason func(error) bool
		// onWatch: the list can be read.
		onWatch bool
	}{
		{name: "the list is of another kind", reason: aKind,
			list: func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, gadgetList) }},
		{name: "the items are, and the list says it last", reason: aKind,
			list: func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, kindLast) }},
		{name: "406", reason: apierrors.IsNotAcceptable,
			list: func(w http.ResponseWriter, r *http.Request) {
				if ours(r) {
					refuse(w, http.StatusNotAcceptable)
					return
				}
				sendJSON(w, gadgetList)
			}},
		{name: "415", reason: apierrors.IsUnsupportedMediaType,
			list: func(w http.ResponseWriter, r *http.Request) {
				if ours(r) {
					refuse(w, http.StatusUnsupportedMediaType)
					return
				}
				sendJSON(w, gadgetList)
			}},
		{name: "YAML", reason: func(err error) bool { return errors.Is(err, ErrEncoding) },
			list: func(w http.ResponseWriter, _ *http.Request) { answer("application/yaml", []byte(gadgetYAML))(w, nil) }},
		{name: "a watch sends another kind", reason: aKind, onWatch: true,
			list: func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, widgetList) }},
		{name: "a watch is refused with 406", reason: apierrors.IsNotAcceptable, onWatch: true,
			list: func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, widgetList) },
			watch: func(w http.ResponseWriter, r *http.Request) {
				if ours(r) {
					refuse(w, http.StatusNotAcceptable)
					return
				}
				sendJSON(w, gadgetEvent(Added, gadgetA)+gadgetEvent(Modified, gadgetB))
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked []string
			p := preferREST(t, func(w http.ResponseWriter, r *http.Request) {
				who := "second"
				if ours(r) {
					who = "first"
				}
				if !isWatch(r) {
					asked = append(asked, who+" lists")
					tc.list(w, r)
					return
				}
				asked = append(asked, who+" watches")
				if tc.watch != nil {
					tc.watch(w, r)
					return
				}
				sendJSON(w, gadgetEvent(Added, gadgetA)+gadgetEvent(Modified, gadgetB))
			})
			check := func(what, keys, want string, err error) {
				t.Helper()
				if err != nil || keys != want {
					t.Fatalf("%s: %q, want %q: %v", what, keys, want, err)
				}
			}
			inList, read := "a b", "second lists"
			if tc.onWatch {
				inList, read = "", "first watches"
			}
			got, err := list(t, p, ListRequest[any]{})
			check("a list", keysOf(got.items), inList, err)
			for range 2 {
				got, err := watchAll(t, p, WatchRequest[any]{ResourceVersion: "4"})
				check("a watch", keysOf(itemsOf(got.events)), "a b", err)
			}
			got, err = list(t, p, ListRequest[any]{})
			check("another list", keysOf(got.items), inList, err)
			if want := []string{"first lists", read, "second watches", "second watches", "second lists"}; !slices.Equal(asked, want) {
				t.Errorf("asked: %q, want %q", asked, want)
			}
			fb, ok := errtype.As[*FallbackError](p.Stats().Reason)
			if !ok || fb.Source != "gadgets.example.com" || !tc.reason(fb.Err) {
				t.Errorf("the reason is %v", p.Stats().Reason)
			}
		})
	}
}

func TestAnotherKindInTheMiddleOfAWatchEndsItAndIsReadByTheNext(t *testing.T) {
	seen := make(chan struct{})
	p := preferREST(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("resourceVersion") == "4" {
			fmt.Fprint(w, gadgetEvent(Added, widgetC))
			w.(http.Flusher).Flush()
			<-seen
		}
		fmt.Fprint(w, gadgetEvent(Added, gadgetA))
	})
	var keys []string
	watch := func(version string) error {
		return p.Watch(t.Context(), WatchRequest[any]{ResourceVersion: version}, func(events []Event[any]) error {
			keys = append(keys, keysOf(itemsOf(events)))
			if len(keys) == 1 {
				close(seen)
			}
			return nil
		})
	}
	err := watch("4")
	if _, ok := errtype.As[*FallbackError](err); !ok || err != p.Stats().Reason || len(keys) != 1 {
		t.Errorf("%q: %v", keys, err)
	}
	if err := watch("7"); err != nil || !slices.Equal(keys, []string{"c", "a"}) {
		t.Errorf("%q: %v", keys, err)
	}
}

// TestWhatAnotherClientWouldMeetAsWellIsNoReasonToAskIt: refusals, objects that
// do not decode, and a Status in place of anything.
func TestWhatAnotherClientWouldMeetAsWellIsNoReasonToAskIt(t *testing.T) {
	gone := string(jsonBytes(&apierrors.NewResourceExpired("too old").ErrStatus))
	for name, handler := range map[string]http.HandlerFunc{
		"403":            func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden) },
		"404":            func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound) },
		"500":            func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusInternalServerError) },
		"nothing":        func(http.ResponseWriter, *http.Request) {},
		"half a list":    func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, gadgetList[:80]) },
		"a Status":       func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, gone) },
		"a Status event": func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, gadgetEvent(Error, gone)) },
		"a broken object": func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, strings.Replace(widgetBody, `"size":3`, `"size":"x"`, 1))
		},
		"a nameless object": func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, strings.Replace(widgetBody, `"name":"c",`, ``, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := preferREST(t, func(w http.ResponseWriter, r *http.Request) {
				if !ours(r) {
					t.Error("the second source was asked")
				}
				handler(w, r)
			})
			_, listErr := list(t, p, ListRequest[any]{})
			_, watchErr := watchAll(t, p, WatchRequest[any]{ResourceVersion: "1"})
			if stats := p.Stats(); stats.Reason != nil || stats.First != 2 {
				t.Errorf("%+v, %v, %v", stats, listErr, watchErr)
			}
		})
	}
}

const widgetBody = `{"apiVersion":"example.com/v1","kind":"widgetList","metadata":{"resourceVersion":"6"},"items":[` + widgetC + `]}`
