package interop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/cache/factories"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/source"
)

var secretGVR = corev1.SchemeGroupVersion.WithResource("secrets")

// aboutSecrets is an informer of Secrets, whose functions quote them.
type aboutSecrets interface {
	cache.Observable
	Run(ctx context.Context) error
}

// dropIn is an informer of package cache.
type dropIn struct {
	cache.Observable
	run func(context.Context)
}

func (d dropIn) Run(ctx context.Context) error { d.run(ctx); return nil }

func passwordOf(obj any) string {
	switch o := obj.(type) {
	case *corev1.Secret:
		return string(o.Data["password"])
	case *unstructured.Unstructured:
		text, _, _ := unstructured.NestedString(o.Object, "data", "password")
		return text
	case *metav1.PartialObjectMetadata:
		return o.Annotations["password"]
	}
	return ""
}

func byPassword(obj any) ([]string, error) { return []string{passwordOf(obj)}, nil }

// refuseTwo is a transform that names what it does not like.
func refuseTwo(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok && o.GetName() == "two" {
		return nil, fmt.Errorf("%s is no password", passwordOf(obj))
	}
	return obj, nil
}

func quotingDropIn(t *testing.T, i cache.SharedIndexInformer) aboutSecrets {
	if err := i.SetTransform(refuseTwo); err != nil {
		t.Fatal(err)
	}
	if err := i.AddIndexers(clientgo.Indexers{"password": byPassword}); err != nil {
		t.Fatal(err)
	}
	return dropIn{i.GetController().(cache.Observable), i.RunWithContext}
}

func quoting[T any](t *testing.T, later bool, src source.Source[T], err error) aboutSecrets {
	if err != nil {
		t.Fatal(err)
	}
	scoped := kinglet.ScopedSource[T]{Source: source.Map(src, func(o T) (T, error) {
		_, err := refuseTwo(o)
		return o, err
	})}
	opts := kinglet.Options[T]{Indexers: map[string]kinglet.IndexFunc[T]{"password": func(o T) ([]string, error) { return byPassword(o) }}}
	if !later {
		return must(kinglet.NewScoped(opts, scoped))
	}
	i := must(kinglet.NewScoped(opts))
	if err := i.AddSource(scoped); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestHoweverAnInformerOfSecretsIsMadeItShowsNothingOfThem beside their keys, also where it
// does not know what it lists.
func TestHoweverAnInformerOfSecretsIsMadeItShowsNothingOfThem(t *testing.T) {
	for name, made := range map[string]func(*testing.T, *rest.Config) aboutSecrets{
		"closures": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			c := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("")
			return quotingDropIn(t, cache.NewSharedIndexInformer(listWatch(c.List, c.Watch), &corev1.Secret{}, 0, nil))
		},
		"closures of any type": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			c := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("")
			return quotingDropIn(t, cache.NewSharedIndexInformer(listWatch(c.List, c.Watch), nil, 0, nil))
		},
		"a client": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			c := kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient()
			return quotingDropIn(t, cache.NewSharedIndexInformer(cache.NewListWatchFromClient(c, "secrets", "", fields.Everything()), &corev1.Secret{}, 0, nil))
		},
		"a typed factory": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			client := kubernetes.NewForConfigOrDie(cfg)
			f := informers.NewSharedInformerFactory(client, 0)
			if err := factories.Typed(f, client.CoreV1().Secrets("")); err != nil {
				t.Fatal(err)
			}
			return quotingDropIn(t, f.Core().V1().Secrets().Informer().(cache.SharedIndexInformer))
		},
		"a dynamic factory": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			f := factories.Dynamic(dynamic.NewForConfigOrDie(cfg), 0, "", nil)
			return quotingDropIn(t, f.ForResource(secretGVR).Informer().(cache.SharedIndexInformer))
		},
		"metadata closures": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			c := metadata.NewForConfigOrDie(cfg).Resource(secretGVR)
			src, err := source.FromListerWatcher[*metav1.PartialObjectMetadata](listWatch(c.List, c.Watch), source.Options{})
			return quoting(t, false, src, err)
		},
		"typed": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			src, err := source.FromConfig[*corev1.Secret](cfg, secretGVR, source.Options{})
			return quoting(t, false, src, err)
		},
		"untyped": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			src, err := source.FromConfig[*unstructured.Unstructured](cfg, secretGVR, source.Options{})
			return quoting(t, false, src, err)
		},
		"untyped, later": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			src, err := source.FromConfig[*unstructured.Unstructured](cfg, secretGVR, source.Options{})
			return quoting(t, true, src, err)
		},
		"untyped closures": func(t *testing.T, cfg *rest.Config) aboutSecrets {
			c := dynamic.NewForConfigOrDie(cfg).Resource(secretGVR)
			src, err := source.FromListerWatcher[*unstructured.Unstructured](listWatch(c.List, c.Watch), source.Options{})
			return quoting(t, false, src, err)
		},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %t", name, wrapped), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { showsNoSecret(t, wrapped, made) })
			})
		}
	}
}

func showsNoSecret(t *testing.T, wrapped bool, made func(*testing.T, *rest.Config) aboutSecrets) {
	storage := apiserver.NewStorage(apiserver.Resource{GroupVersionResource: secretGVR, Kind: "Secret"})
	for _, name := range []string{"one", "two"} {
		must(storage.Create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{"password": "hunter2"}},
			Data:       map[string][]byte{"password": []byte("hunter2")},
		}))
	}
	server := apiserver.New(storage, apiserver.Options{})
	t.Cleanup(server.Close)
	cfg := server.Config()
	if wrapped {
		cfg.Wrap(source.WrapTransport)
	}
	i := made(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- i.Run(ctx) }()
	synctest.Wait()

	d := i.Inspect()
	if len(d.Quarantined) != 1 || d.Indexes[len(d.Indexes)-1].LargestObjects != 1 {
		t.Errorf("%d objects are quarantined, and the indexes are %+v", len(d.Quarantined), d.Indexes)
	}
	set := kinglet.NewSet()
	set.Observe(i)
	st := i.Status()
	shown := fmt.Sprintf("%+v %+v %v", d, st.Problems(time.Now()), set.Ready(nil))
	for _, format := range []string{"html", "json"} {
		w := httptest.NewRecorder()
		page.Handler(set).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/?open="+url.QueryEscape(st.Name)+"&format="+format, nil))
		shown += w.Body.String()
	}
	if !strings.Contains(shown, "Quarantine") {
		t.Error("the page shows no details")
	}
	for _, secret := range []string{"hunter2", "aHVudGVyMg"} {
		if at := strings.Index(shown, secret); at >= 0 {
			t.Errorf("%s is shown: …%s…", secret, shown[max(0, at-100):at+20])
		}
	}
	cancel()
	<-ended
}
