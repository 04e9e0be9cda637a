//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

var (
	requests    = flag.Int("requests", 600, "random requests to the API server in memory and to a real one")
	answersSeed = flag.Uint64("answers-seed", 1, "seed of these requests")
)

var widgets = schema.GroupVersionResource{Group: "answers.example.com", Version: "stable", Resource: "widgets"}

const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.answers.example.com"},
"spec":{"group":"answers.example.com","names":{"kind":"Widget","listKind":"WidgetList","plural":"widgets","singular":"widget"},"scope":"Namespaced",
"versions":[{"name":"stable","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// A random request, of any verb but watch, is answered alike by the API server in memory and
// by a real one, and leaves the same behind. The documentation of package apiserver lists
// what this leaves out.
func TestTheAPIServerInMemoryAnswersRandomRequestsAsARealOneDoes(t *testing.T) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program})
	config := cluster.Config(t)
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "answers"}}, metav1.CreateOptions{})
	must(t, err)
	real := talk(t, config)
	toGadgets := strings.NewReplacer("widget", "gadget", "Widget", "Gadget", "Namespaced", "Cluster")
	for path, definition := range map[string]string{"/namespaces/answers/widgets": widgetDefinition, "/gadgets": toGadgets.Replace(widgetDefinition)} {
		real.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
		must(t, wait.PollUntilContextCancel(t.Context(), 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			resp := real.send(ctx, request{method: "GET", path: "/apis/answers.example.com/stable" + path})
			defer resp.Body.Close()
			return resp.StatusCode == http.StatusOK, nil
		}))
	}

	server := apiserver.New(apiserver.NewStorage(apiserver.ConfigMaps,
		apiserver.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("secrets"), Kind: "Secret"},
		apiserver.Resource{GroupVersionResource: networkingv1.SchemeGroupVersion.WithResource("ingresses"), Kind: "Ingress"},
		apiserver.Resource{GroupVersionResource: widgets, Kind: "Widget", Status: true},
		apiserver.Resource{GroupVersionResource: widgets.GroupVersion().WithResource("gadgets"), Kind: "Gadget", Status: true, ClusterScoped: true},
	), apiserver.Options{})
	defer server.Close()
	ours := talk(t, server.Config())

	rng := rand.New(rand.NewPCG(*answersSeed, 0))
	real.lines = nil
	for i := range *requests {
		r := randomRequest(rng)
		real.ask(r)
		ours.ask(r)
		if a, b := real.lines[i], ours.lines[i]; a != b {
			t.Errorf("seed %d, request %d\n %+v\n real: %s\n ours: %s", *answersSeed, i, r, a, b)
		}
	}
}

// ask sends a request and notes the answer.
func (a *answersOf) ask(r request) {
	code, raw := a.answer(r)
	if bytes.HasPrefix(raw, []byte("404 page not found")) || bytes.Contains(raw, []byte("the server could not find the requested resource")) {
		raw = []byte("an unknown path") // in words or as a Status
	}
	a.lines = append(a.lines, fmt.Sprint(code, " ", a.normal(raw)))
}

// randomKind is one of the kinds that random requests are about.
type randomKind struct {
	path, apiVersion, kind string
	contents, status       []string
}

var randomKinds = []randomKind{
	{"/api/v1", "v1", "Secret", []string{`"type":"Opaque","data":{"k":"dg=="},"stringData":{"k":"w","l":""}`, `"type":"Opaque","stringData":{"l":"1"}`, `"type":"Opaque","stringData":{}`}, nil},
	{"/api/v1", "v1", "ConfigMap", []string{`"data":{"k":"v"}`, `"data":{"k":"w","l":"1"}`, `"immutable":false`}, nil},
	{
		"/apis/networking.k8s.io/v1", "networking.k8s.io/v1", "Ingress",
		[]string{`"spec":{"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}`, `"spec":{"defaultBackend":{"service":{"name":"y","port":{"number":81}}}}`},
		[]string{`{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}`, `{"loadBalancer":{}}`},
	},
	{
		"/apis/answers.example.com/stable", "answers.example.com/stable", "Widget",
		[]string{`"spec":{"size":1732400000123456789}`, `"spec":{"size":2,"list":[1,"a"]}`, `"other":{"x":1.5}`, `"spec":{"size":1.0,"list":[-2.0,1e3]}`},
		[]string{`{"ready":true}`, `{"n":9007199254740993}`},
	},
	{"/apis/answers.example.com/stable", "answers.example.com/stable", "Gadget", []string{`"spec":{"size":1}`, `"spec":{"size":2}`}, []string{`{"ready":true}`, `{}`}},
}

func randomRequest(rng *rand.Rand) request {
	k := &randomKinds[rng.IntN(len(randomKinds))]
	plural := strings.ToLower(k.kind) + "s"
	if k.kind == "Ingress" {
		plural = "ingresses"
	}
	ns := k.path + "/namespaces/answers/" + plural
	if one(rng, 40) || k.kind == "Gadget" { // which has no namespace
		ns = k.path + "/" + plural
	}
	name := strings.ToLower(k.kind[:1]) + pick(rng, "a", "b", "c")
	r := request{accept: "application/json", path: ns + "/" + name}
	if one(rng, 12) {
		r.accept = pick(rng, "application/yaml", "application/*", "text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Foo;g=meta.k8s.io;v=v1",
			"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
			"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/vnd.kubernetes.protobuf;stream=watch")
	}
	switch rng.IntN(12) {
	case 0, 1, 2:
		r.method, r.path, r.body, r.media = "POST", ns, k.object(rng, name, true), media(rng)
		r.path += "?" + writeOptions(rng)
		if one(rng, 8) {
			r.body = strings.Replace(r.body, `"name":`, `"generateName":"gen-","name":`, 1)
		} else if one(rng, 6) {
			r.path = ns + "?dryRun=All" // the order of such names is random
			r.body = strings.Replace(r.body, `"name":"`+name, `"generateName":"`+pick(rng, "gen-", strings.Repeat("gen-", 16)), 1)
		}
	case 3, 4, 5:
		r.method, r.body, r.media = "PUT", k.object(rng, name, false), media(rng)
		if one(rng, 4) {
			r.path += "/status"
		}
		r.path += "?" + writeOptions(rng)
	case 6, 7, 8:
		k.patch(rng, &r)
	case 9:
		r.method = "DELETE"
		if one(rng, 6) {
			r.path = ns + pick(rng, "", "?labelSelector=l%3Dx", "?fieldSelector=metadata.name%3Dca", "?dryRun=All", "?limit=1", "?limit=1", "?limit=1&continue=TOKEN", "?resourceVersion=0&limit=1",
				"?resourceVersion=99999999", "?limit=1&labelSelector=l%3Dx")
			if !strings.Contains(r.path, "dryRun") && k.kind != "ConfigMap" {
				r.body = pick(rng, "", "", `{"preconditions":{"uid":"other"}}`, `{"preconditions":{"resourceVersion":"RV-`+name+`"}}`, `{"dryRun":["All"]}`, `{"dryRun":["Some"]}`, k.deleteOptions(rng))
			}
		} else {
			r.media = media(rng)
			r.body = pick(rng, "", `{}`, `{"preconditions":{"uid":"other"}}`, `{"preconditions":{"resourceVersion":"RV-`+name+`"}}`, `{"dryRun":["All"]}`, `{"dryRun":["Some"]}`,
				`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`, k.deleteOptions(rng), k.deleteOptions(rng), k.deleteOptions(rng))
		}
	case 10:
		r.method = "GET"
		r.path += pick(rng, "", "", "/status", "/scale", "?watch=true", "?resourceVersion=0", "?resourceVersion=RV-"+name, "?resourceVersion=nonsense")
		if one(rng, 8) {
			r.method = pick(rng, "OPTIONS", "FOO")
		}
	case 11:
		r.method, r.path = "GET", ns+"?"+pick(rng, "", "limit=1", "limit=1&labelSelector=l%3Dx", "limit=1&labelSelector=!l", "limit=1&fieldSelector=metadata.name%3D"+name, "limit=1&fieldSelector=metadata.name!%3D"+name, "limit=1&fieldSelector=metadata.name%3D"+name+"&resourceVersion=RV-"+name, "limit=1&fieldSelector=metadata.namespace%3Danswers",
			"limit=1&continue=TOKEN", "limit=1&labelSelector=l&continue=TOKEN", "resourceVersion=0&limit=1&labelSelector=l%3Dx", "labelSelector=l%3Dx", "labelSelector=none", "labelSelector=l", "labelSelector=!l", "labelSelector=l+notin+(x)", "fieldSelector=metadata.name%3Dca",
			"fieldSelector=metadata.name!%3Dca", "fieldSelector=data.k%3Dv", "fieldSelector=data.k!%3Dv", "fieldSelector=metadata.namespace%3Danswers", "fieldSelector=status.phase%3DRunning")
	}
	if k.kind == "ConfigMap" { // of which a real server has one of its own
		r.path = strings.Replace(r.path, "limit=1", "limit=500", 1)
		r.path = strings.Replace(r.path, "resourceVersion=0&", "", 1) // a precondition of a deletion, too
	}
	if strings.Contains(r.body, `"uid":"u"`) { // a real control plane deletes what has lost its owner
		r.path, _, _ = strings.Cut(r.path, "?")
		r.path += "?dryRun=All"
	}
	r.path = strings.TrimSuffix(r.path, "?")
	return r
}

// deleteOptions returns options of a delete in the group and version of the resource, as typed
// clients send them, or in others, or something else.
func (k *randomKind) deleteOptions(rng *rand.Rand) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q}`, pick(rng, "DeleteOptions", "DeleteOptions", "DeleteOptions", "CreateOptions", "Foo", ""),
		pick(rng, k.apiVersion, k.apiVersion, "v1", "meta.k8s.io/v1", "policy/v1", "nobody.example.com/v7", ""))
}

// object is a random object as a request has it.
func (k *randomKind) object(rng *rand.Rand, name string, create bool) string {
	m := []string{fmt.Sprintf(`"name":%q`, name)}
	if one(rng, 20) {
		m = []string{`"name":` + pick(rng, `"Bad_Name"`, `""`, `"z"`, `"system:a"`, `"a%b"`)}
	}
	if one(rng, 3) {
		m = append(m, `"labels":{"l":"`+pick(rng, "x", "y")+`"}`)
	}
	if one(rng, 12) {
		m = append(m, `"labels":{"not a label":"x"}`)
	}
	if one(rng, 4) {
		m = append(m, `"finalizers":["`+pick(rng, "example.com/f", "example.com/g", "nonsense")+`"]`)
	}
	if one(rng, 10) {
		m = append(m, `"generation":7`)
	}
	if one(rng, 10) {
		m = append(m, `"uid":"11111111-2222-3333-4444-555555555555"`)
	}
	if one(rng, 8) {
		m = append(m, `"annotations":{"a":"`+pick(rng, "1", "2")+`"}`)
	}
	if create && one(rng, 12) || !create && !one(rng, 4) {
		m = append(m, `"resourceVersion":"`+pick(rng, "RV-"+name, "RV-"+name, "RV-"+name, "1", "0", "00", "nonsense")+`"`)
	}
	if one(rng, 20) {
		m = append(m, `"namespace":`+pick(rng, `"answers"`, `"other"`, "null"))
	}
	if one(rng, 6) {
		m = append(m, pick(rng, `"foo":1`, `"selfLink":"/x"`, `"uid":null`, `"labels":{"l":5}`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`, `"deletionGracePeriodSeconds":5`,
			`"ownerReferences":[`+owner+`]`, `"ownerReferences":[`+owner+`,`+owner+`]`, `"ownerReferences":[{"name":"o"}]`, `"ownerReferences":[`+stranger+`]`,
			`"managedFields":[{"manager":"m"}]`, `"managedFields":[{"manager":"m","operation":"Update"}]`, `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":"nonsense"}]`))
	}
	fields := []string{pick(rng, k.contents...)}
	if k.status != nil && one(rng, 2) {
		fields = append(fields, `"status":`+pick(rng, k.status...))
	}
	if apiVersion, kind := k.apiVersion, k.kind; one(rng, 15) {
		wrong := *k
		wrong.apiVersion, wrong.kind = pick(rng, apiVersion, "v1", "v7"), pick(rng, kind, "Secret", "List", "Foo")
		k = &wrong
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, k.apiVersion, k.kind, strings.Join(m, ","), strings.Join(fields, ","))
}

const (
	owner = `{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u"}`
	// stranger is of a kind that nobody knows, so that nobody looks for it.
	stranger = `{"apiVersion":"nobody.example.com/v1","kind":"Stranger","name":"s","uid":"s"}`
)

// media are content types of an object; most requests have none.
func media(rng *rand.Rand) string {
	if one(rng, 10) {
		return pick(rng, "application/yaml", "application/json; charset=utf-8", "text/plain", "application/merge-patch+json")
	}
	return ""
}

func (k *randomKind) patch(rng *rand.Rand, r *request) {
	r.method = "PATCH"
	if one(rng, 4) {
		r.path += "/status"
	}
	r.path += "?" + writeOptions(rng)
	if one(rng, 8) { // all are refused: the outcome of an apply depends on managed fields
		r.media = string(types.ApplyYAMLPatchType)
		r.path += pick(rng, "", "&fieldManager=m", "&fieldManager=m&force=true")
		kind := fmt.Sprintf(`"apiVersion":%q,"kind":%q`, k.apiVersion, k.kind)
		r.body = pick(rng, `{`+kind+`,"metadata":{"namespace":"other"}}`, `{`+kind+`,"metadata":{"name":"other"}}`, `{`+kind+`,"metadata":{"managedFields":[{"manager":"m","operation":"Apply"}]}}`,
			`{"apiVersion":"v1","metadata":{"name":"ca"}}`, `{"kind":"Secret","apiVersion":"v7","metadata":{}}`, `[]`, `{{{`, `a: [`, `null`, ``)
		return
	}
	if one(rng, 3) {
		r.media = string(types.JSONPatchType)
		r.body = pick(rng, `[{"op":"add","path":"/metadata/labels","value":{"l":"y"}}]`, `[{"op":"replace","path":"/metadata/labels/l","value":"z"}]`,
			`[{"op":"test","path":"/metadata/name","value":"wa"},{"op":"add","path":"/metadata/annotations","value":{"t":"1"}}]`, `[{"op":"remove","path":"/nothing"}]`, `{}`,
			`[{"op":"replace","path":"/metadata/name","value":"other"}]`, `[{"op":"remove","path":"/metadata/finalizers"}]`,
			`[{"op":"remove","path":"/metadata/uid"}]`, `[{"op":"add","path":"/stringData","value":{"k":"j"}}]`, `[{"op":"replace","path":"/kind","value":"Foo"}]`, `[{"op":"add","path":"/metadata/foo","value":1}]`, `[{"op":1}]`, `[{"op":"add","op":"add","path":"/metadata/labels","value":{}}]`, `null`)
		return
	}
	r.media = pick(rng, string(types.MergePatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), "application/nonsense")
	change := []string{
		`{"metadata":{"labels":{"l":"z"}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"l":null}}}`, `{"metadata":{"finalizers":["example.com/h"]}}`, `{"metadata":{"finalizers":null}}`,
		`{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"0"}}`, `{"metadata":{"uid":"11111111-2222-3333-4444-555555555555"}}`, `{"metadata":{"annotations":{"b":"1"}}}`, `{}`, `[]`, `{"metadata":{"name":"other"}}`,
		`{` + pick(rng, k.contents...) + `}`,
		`null`, `metadata: {}`, `{"kind":"Foo"}`, `{"apiVersion":"v7"}`, `{"metadata":{"labels":{"l":5}}}`, `{"metadata":{"labels":{"l":"1","l":"2"}}}`,
		`{"metadata":{` + pick(rng, `"uid":null`, `"namespace":null`, `"namespace":"other"`, `"name":null`, `"foo":1`, `"selfLink":"/x"`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`,
			`"deletionGracePeriodSeconds":5`, `"ownerReferences":[`+owner+`,`+owner+`]`, `"ownerReferences":[{"uid":"u"}]`, `"managedFields":[{"manager":"m"}]`) + `}}`,
	}
	if r.media == string(types.StrategicMergePatchType) && one(rng, 2) {
		change = []string{
			`{"$patch":"nope"}`, `{"$patch":"delete"}`, `{"metadata":{"labels":{"$patch":"nope"}}}`, `{"metadata":{"labels":{"$patch":"replace","l":"y"}}}`, `{"metadata":{"ownerReferences":[` + stranger + `]}}`,
			`{"metadata":{"ownerReferences":[{"name":"t"}]}}`, `{"metadata":{"ownerReferences":["s"]}}`, `{"metadata":{"ownerReferences":[{"uid":"s","$patch":"nope"}]}}`, `{"metadata":{"ownerReferences":[{"uid":"s","$patch":"delete"}]}}`,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/f"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":"example.com/f"}}`, `{"metadata":{"$setElementOrder/finalizers":["a"],"finalizers":["b"]}}`,
			`{"metadata":{"$setElementOrder/finalizers":5}}`, `{"metadata":{"$retainKeys":["name"],"labels":{"l":"x"}}}`, `{"metadata":{"$retainKeys":"name"}}`, `{"metadata":{"finalizers":"example.com/f"}}`,
		}
	}
	if k.status != nil {
		change = append(change, `{"status":`+pick(rng, k.status...)+`}`, `{"status":null}`)
	}
	r.body = pick(rng, change...)
}

func one(rng *rand.Rand, of int) bool { return rng.IntN(of) == 0 }

func pick(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }

func writeOptions(rng *rand.Rand) string {
	return pick(rng, "", "", "", "", "", "", "dryRun=All", "dryRun=All", "dryRun=Some", "fieldManager=me", "fieldValidation=Strict", "fieldValidation=Strict", "fieldValidation=Ignore")
}
