package intercept

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

func TestOnlyRequestsForCollectionsAreTaken(t *testing.T) {
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	alpha := schema.GroupVersion{Group: "a.b.example.com", Version: "v2alpha13"}
	none := schema.GroupVersionResource{}
	for path, want := range map[string]schema.GroupVersionResource{
		"/api/v1/pods":                                 core.WithResource("pods"),
		"/api/v1/namespaces":                           core.WithResource("namespaces"),
		"/api/v1/namespaces/ns/pods":                   core.WithResource("pods"),
		"/apis/apps/v1/deployments":                    apps.WithResource("deployments"),
		"/apis/apps/v1/namespaces/ns/deployments":      apps.WithResource("deployments"),
		"/apis/a.b.example.com/v2alpha13/things":       alpha.WithResource("things"),
		"/k8s/clusters/c-1/api/v1/pods":                core.WithResource("pods"),
		"/clusters/root:a/apis/apps/v1/deployments":    apps.WithResource("deployments"),
		"/api/proxy/api/v1/namespaces/ns/pods":         core.WithResource("pods"),
		"/apis/stable.example.com/stable/things":       {Group: "stable.example.com", Version: "stable", Resource: "things"},
		"/apis/a.b/v1api20200601/namespaces/ns/things": {Group: "a.b", Version: "v1api20200601", Resource: "things"},
		"/":                                none,
		"/version":                         none,
		"/api":                             none,
		"/api/v1":                          none,
		"/apis/apps/v1":                    none,
		"/api/v1/watch":                    none,
		"/api/v1/watch/pods":               none,
		"/api/v1/nodes/n":                  none,
		"/api/v1/namespaces/ns":            none,
		"/api/v1/namespaces/ns/status":     none,
		"/api/v1/namespaces/ns/finalize":   none,
		"/apis/a.b/v1/namespaces/n/status": none, // of a custom resource of that name
		"/api/v1/namespaces/ns/pods/p":     none,
		"/api/v1/namespaces/ns/pods/p/log": none,
		"/apis/apps/v1/namespaces/ns/deployments/d":     none,
		"/apis/apps/Not-a-Version/namespaces/ns/things": none,
		"/api/v1/nodes/n/proxy/metrics":                 none,
	} {
		got, ok := CollectionOf(path)
		if got != want || ok != (want != none) {
			t.Errorf("%s: %v, %v", path, got, ok)
		}
	}
}

func TestWhatAClientAcceptsIsReadFromItsHeader(t *testing.T) {
	const (
		js, proto = "application/json", "application/vnd.kubernetes.protobuf"
		as, lists = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	for header, want := range map[string]struct {
		reads encoding.Encoding
		// form: the server is to convert the objects, to metadata or to a table.
		metadata, table bool
	}{
		"":                           {reads: encoding.JSON},
		js:                           {reads: encoding.JSON},
		js + "," + proto:             {reads: encoding.JSON},
		proto + ", " + js:            {reads: encoding.JSON},
		proto:                        {reads: encoding.Protobuf},
		"application/cbor":           {},
		"*/*":                        {reads: encoding.JSON},
		js + ";q=0.9,text/cbor;q=1":  {reads: encoding.JSON},
		"text/html":                  {},
		"application/cbor;;;":        {},
		proto + as + "," + js + as:   {reads: encoding.JSON, metadata: true},
		proto + lists + "," + js:     {reads: encoding.JSON, metadata: true},
		js + ";as=Table;v=v1," + js:  {reads: encoding.JSON, table: true},
		js + ";as=PodMetrics;g=x.io": {reads: encoding.JSON, table: true},
	} {
		values := []string{header}
		if header == "" {
			values = nil
		}
		for _, metadata := range []bool{false, true} {
			got, err := (&Call{metadata: metadata}).readAccept(values)
			if ok := want.reads != nil && want.metadata == metadata && !want.table; ok != (err == nil) || ok && got != want.reads {
				t.Errorf("%s, for metadata %v: %v, %v", header, metadata, got, err)
			}
		}
	}
}

// TestEveryPathOfAClientIsReadBack builds paths with client-go. Their names are often
// those that have a meaning elsewhere in a path.
func TestEveryPathOfAClientIsReadBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	label := func() string {
		if r.IntN(2) == 0 {
			return pick("api", "apis", "v1", "v1beta1", "stable", "v1-preview", "v1api20200601", "status", "finalize", "things", "pods", "2024")
		}
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String() + pick("", "-x")
	}
	name := func() string { return label() + pick("", "", ".example.com", ":a", "_b", " c", "é") }
	for n := range 20_000 {
		gv, base := schema.GroupVersion{Version: "v1"}, "/api/v1"
		if r.IntN(4) > 0 {
			gv = schema.GroupVersion{Group: label() + pick("", ".example.com"), Version: label()}
			base = "/apis/" + gv.String()
		}
		gvr, key, sub := gv.WithResource(label()), store.Key{}, ""
		if gvr.Resource == "status" || gvr.Resource == "finalize" {
			continue // a server reads them as subresources of namespaces, in every group
		}
		if r.IntN(20) == 0 {
			gvr.Resource = "namespaces"
		}
		req := rest.NewRequestWithClient(&url.URL{Scheme: "http", Host: "h", Path: pick("/", "/k8s/clusters/c-1", "/clusters/root:a/", "/v1/proxy")}, base,
			rest.ClientContentConfig{}, nil).Verb("PATCH").Resource(gvr.Resource)
		if gvr.Resource != "namespaces" && r.IntN(2) == 0 {
			key.Namespace = label()
			req.Namespace(key.Namespace)
		}
		if r.IntN(4) > 0 {
			key.Name = name()
			req.Name(key.Name)
			if r.IntN(2) == 0 {
				sub = pick("status", "scale", "log", label())
				if gvr.Resource == "namespaces" {
					sub = pick("status", "finalize")
				}
				req.SubResource(sub)
			}
		}
		// The transport is given the path as a server reads it.
		u, err := url.Parse(req.URL().String())
		if err != nil || req.Error() != nil {
			t.Fatal(err, req.Error())
		}
		gotResource, gotKey, gotSub, ok := ObjectOf(u.Path, nil)
		if !ok || gotResource != gvr || gotKey != key || gotSub != sub {
			t.Fatalf("path %d, %s: %v %v %q, %v; want %v %v %q", n, u.Path, gotResource, gotKey, gotSub, ok, gvr, key, sub)
		}
		collection, ok := CollectionOf(u.Path)
		if want := key.Name == ""; ok != want || ok && collection != gvr {
			t.Fatalf("path %d, %s: collection %v, %v", n, u.Path, collection, ok)
		}
	}
}

func TestAKnownResourceIsPreferredToWhatAProxysPrefixLooksLike(t *testing.T) {
	const path = "/apis/mirror/apis/example.com/stable/things"
	things := schema.GroupVersionResource{Group: "example.com", Version: "stable", Resource: "things"}
	got, _, _, ok := ObjectOf(path, func(r schema.GroupResource) bool { return r == things.GroupResource() })
	if !ok || got != things {
		t.Errorf("%v, %v", got, ok)
	}
	if got, _, _, ok = ObjectOf(path, func(schema.GroupResource) bool { return false }); !ok || got.Group != "mirror" {
		t.Errorf("with no known resource: %v, %v", got, ok)
	}
}

func TestAWriteThroughAnObjectsProxyIsForAnotherServer(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	known := func(r schema.GroupResource) bool { return r == pods }
	for _, prefix := range []string{
		"/api/v1/namespaces/vc/services/https:vcluster:443/proxy", "/api/v1/nodes/n/proxy", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy",
		"/k8s/clusters/c-1/api/v1/namespaces/vc/services/s/proxy",
	} {
		for _, path := range []string{"/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/p", "/api/v1/namespaces/ns/pods/p/status"} {
			if r, key, _, ok := ObjectOf(prefix+path, known); ok {
				t.Errorf("%s%s is taken for %v %v", prefix, path, r, key)
			}
			if r, _, _, ok := ObjectOf(prefix+path, nil); !ok || r.GroupResource() != pods {
				t.Errorf("%s%s is read as %v, %v", prefix, path, r, ok)
			}
		}
	}
}
