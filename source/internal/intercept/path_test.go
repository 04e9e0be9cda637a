package intercept

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

func TestOnlyRequestsForCollectionsAreTaken(t *testing.T) {
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	alpha := schema.GroupVersion{Group: "a.b.example.com", Version: "v2alpha13"}
	none := schema.GroupVersionResource{}
	for path, want := range map[string]schema.GroupVersionResource{
		"/api/v1/pods":                                  core.WithResource("pods"),
		"/api/v1/namespaces":                            core.WithResource("namespaces"),
		"/api/v1/namespaces/ns/pods":                    core.WithResource("pods"),
		"/apis/apps/v1/deployments":                     apps.WithResource("deployments"),
		"/apis/apps/v1/namespaces/ns/deployments":       apps.WithResource("deployments"),
		"/apis/apps/v1/namespaces/ns/status":            apps.WithResource("status"),
		"/apis/a.b.example.com/v2alpha13/things":        alpha.WithResource("things"),
		"/k8s/clusters/c-1/api/v1/pods":                 core.WithResource("pods"),
		"/clusters/root:a/apis/apps/v1/deployments":     apps.WithResource("deployments"),
		"/api/proxy/api/v1/namespaces/ns/pods":          core.WithResource("pods"),
		"/":                                             none,
		"/version":                                      none,
		"/api":                                          none,
		"/api/v1":                                       none,
		"/apis/apps/v1":                                 none,
		"/api/v1/watch":                                 none,
		"/api/v1/watch/pods":                            none,
		"/api/v1/nodes/n":                               none,
		"/api/v1/namespaces/ns":                         none,
		"/api/v1/namespaces/ns/status":                  none,
		"/api/v1/namespaces/ns/finalize":                none,
		"/api/v1/namespaces/ns/pods/p":                  none,
		"/api/v1/namespaces/ns/pods/p/log":              none,
		"/apis/apps/v1/namespaces/ns/deployments/d":     none,
		"/apis/apps/notaversion/namespaces/ns/anything": none,
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
	both := [formats.Count]bool{formats.JSON: true, formats.Protobuf: true}
	onlyJSON := [formats.Count]bool{formats.JSON: true}
	for header, want := range map[string]accepted{
		js:                           {encoding: encoding.JSON, reads: onlyJSON},
		js + "," + proto:             {encoding: encoding.JSON, reads: both},
		proto + ", " + js:            {encoding: encoding.JSON, reads: both},
		proto:                        {encoding: encoding.Protobuf, reads: [formats.Count]bool{formats.Protobuf: true}},
		"application/cbor":           {},
		"*/*":                        {encoding: encoding.JSON, reads: onlyJSON},
		js + ";q=0.9,text/cbor;q=1":  {encoding: encoding.JSON, reads: onlyJSON},
		"text/html":                  {},
		"application/cbor;;;":        {},
		proto + as + "," + js + as:   {encoding: encoding.JSON, reads: both, metadata: true},
		proto + lists + "," + js:     {encoding: encoding.JSON, reads: both, metadata: true},
		js + ";as=Table;v=v1," + js:  {encoding: encoding.JSON, reads: onlyJSON, table: true},
		js + ";as=PodMetrics;g=x.io": {encoding: encoding.JSON, reads: onlyJSON, table: true},
	} {
		if got := readAccept(http.Header{"Accept": {header}}); got != want {
			t.Errorf("%s: %+v", header, got)
		}
	}
	if got := readAccept(nil); got.encoding != encoding.JSON {
		t.Errorf("without a header: %+v", got)
	}
}
