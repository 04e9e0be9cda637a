//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// names are of every shape that a kind's rule may tell apart.
var names = []string{
	"a", "a-b", "a.b", "a_b", "a:b", "A", "1a", "a-", "-a", "a.", ".a", "a..b", "...", ".", "..", "a b", "a%b", "a/b", "é",
	"10.0.0.1", "10.0.0.01", "2001:db8::1", "2001:DB8::1", "system:A", "example.com:signer:a", "example.com:signer:A",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254),
}

// Each kind of client-go's scheme that a real server has is created under each name, in a dry
// run. Their other fields are missing, and a server says so beside.
func TestTheAPIServerInMemoryHasTheNamesAndDiscoveryOfARealOneAndObjectsTheSameLife(t *testing.T) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program})
	config := cluster.Config(t)
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "answers"}}, metav1.CreateOptions{})
	must(t, err)
	theirs := discovered(t, config)
	storage := apiserver.NewStorage()
	var all []apiserver.Resource
	for gvr, r := range theirs {
		if slices.ContainsFunc(all, func(o apiserver.Resource) bool { return o.GroupResource() == gvr.GroupResource() }) {
			continue // in another version: a Storage has one
		}
		if gvk := gvr.GroupVersion().WithKind(r.Kind); scheme.Scheme.Recognizes(gvk) && slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "list") {
			all = append(all, apiserver.Resource{GroupVersionResource: gvr, Kind: r.Kind, ClusterScoped: !r.Namespaced})
			storage.Define(all[len(all)-1])
		}
	}
	slices.SortFunc(all, func(a, b apiserver.Resource) int { return strings.Compare(a.String(), b.String()) })
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	ours := discovered(t, server.Config())
	for gvr, r := range ours {
		other := theirs[gvr]
		if gvr.Resource == "csinodes/status" {
			continue // client-go is of 1.37, where it has a status
		}
		if other.Kind != r.Kind || other.Namespaced != r.Namespaced || other.SingularName != r.SingularName {
			t.Errorf("%s is %+v, and ours is %+v", gvr, other, r)
		}
		for _, verb := range other.Verbs {
			if !slices.Contains(r.Verbs, verb) {
				t.Errorf("%s: no %s", gvr, verb)
			}
		}
	}

	real, memory := talk(t, config), talk(t, server.Config())
	compared := map[string]int{}
	for _, r := range all {
		for _, field := range []string{"name", "generateName", "finalizers"} {
			for _, name := range names {
				metadata := map[string]any{field: name}
				if field == "finalizers" {
					metadata = map[string]any{"name": "a", field: []string{name}}
				}
				body, err := json.Marshal(map[string]any{"apiVersion": r.GroupVersion().String(), "kind": r.Kind, "metadata": metadata})
				must(t, err)
				req := request{method: "POST", path: pathOf(r) + "?dryRun=All", body: string(body), accept: runtime.ContentTypeJSON}
				a, known := real.refusal(req)
				if !known {
					continue
				}
				b, _ := memory.refusal(req)
				generic := content.IsPathSegmentName(name)
				if field == "finalizers" {
					generic = utilvalidation.IsQualifiedName(name)
				}
				if a == "" && len(generic) > 0 {
					continue // it looks at this last, if nothing else is wrong
				}
				compared[r.Group+"/"+r.Kind]++
				if a != b {
					t.Errorf("%s %s %.70q\n real: %s\n ours: %s", r.Kind, field, name, a, b)
				}
			}
		}
	}
	t.Logf("%d kinds were compared, of %d", len(compared), len(all))
	if len(compared) < 40 {
		t.Errorf("only %v were compared", compared)
	}

	counted, answers := 0, 0
	for _, r := range all {
		if r.Kind == "CSINode" {
			continue // client-go is of 1.37
		}
		for _, proto := range []bool{false, true} {
			theirs, ours := real.live(r, proto), memory.live(r, proto)
			if len(theirs) < 2 {
				t.Logf("%s: %s", r.Kind, theirs)
				continue
			}
			counted++
			for i, a := range theirs {
				if strings.HasSuffix(a, " Invalid ") || strings.HasPrefix(a, "PUT /not-NAME") && strings.Contains(a, ": 201 ") {
					continue // something beside the metadata, or a creation by an update
				}
				answers++
				if b := at(ours, i); a != b {
					t.Errorf("%s, protobuf: %t\n real: %s\n ours: %s", r.Kind, proto, a, b)
				}
			}
		}
	}
	t.Logf("%d answers to %d lives were compared", answers, counted)
	if counted < 100 {
		t.Errorf("only %d lives were compared", counted)
	}
}

// pathOf is the path of a resource, in a namespace.
func pathOf(r apiserver.Resource) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/v1"
	}
	if !r.ClusterScoped {
		path += "/namespaces/answers"
	}
	return path + "/" + r.Resource
}

// invalidValue differs for generated names.
var invalidValue = regexp.MustCompile(`Invalid value: ".*?": `)

// refusal returns the server's error about the name that a request creates; known is false if the
// server refused the request before it looked.
func (a *answersOf) refusal(r request) (why string, known bool) {
	code, raw := a.answer(r)
	if code == http.StatusCreated || code == http.StatusConflict {
		return "", true
	}
	var st metav1.Status
	must(a.t, json.Unmarshal(raw, &st))
	if code != http.StatusUnprocessableEntity || st.Details == nil {
		return fmt.Sprint(code, " ", st.Message), false
	}
	var all []string
	for _, c := range st.Details.Causes {
		if c.Field == "metadata.name" || c.Field == "metadata.generateName" || strings.HasPrefix(c.Field, "metadata.finalizers") {
			all = append(all, c.Field+" "+strings.ReplaceAll(invalidValue.ReplaceAllString(c.Message, ""), "bytes", "characters"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; "), true
}

// discovered are the resources of a server, with their subresource status.
func discovered(t *testing.T, config *rest.Config) map[schema.GroupVersionResource]metav1.APIResource {
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroupsAndResources()
	must(t, err)
	all := map[schema.GroupVersionResource]metav1.APIResource{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		must(t, err)
		for _, r := range l.APIResources {
			all[gv.WithResource(r.Name)] = r
		}
	}
	return all
}
