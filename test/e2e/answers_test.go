//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// answersOf is a server that the script is sent to.
type answersOf struct {
	t      *testing.T
	client *http.Client
	host   string
	// versions are the resource versions of leases, by name, as last answered.
	versions map[string]string
	// token is the last continue token.
	token string
	lines []string
	// mu guards versions and token while watches run side by side.
	mu sync.Mutex
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/answers/leases"

// The script, without faults, is answered alike by the API server in memory and
// by a real one: codes, headers, Status objects, lists, pages and watches.
func TestTheAPIServerInMemoryAnswersAsARealOneDoes(t *testing.T) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program})
	config := cluster.Config(t)
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "answers"}}, metav1.CreateOptions{})
	must(t, err)

	server := apiserver.New(apiserver.NewStorage(apiserver.Resource{
		GroupVersionResource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Kind: "Lease",
	}), apiserver.Options{})
	defer server.Close()

	real, ours := script(t, config), script(t, server.Config())
	for i := range max(len(real), len(ours)) {
		if a, b := at(real, i), at(ours, i); a != b {
			t.Errorf("line %d\n real: %s\n ours: %s", i, a, b)
		}
	}
	t.Logf("%d answers are alike", len(real))
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

func talk(t *testing.T, config *rest.Config) *answersOf {
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return &answersOf{t: t, client: client, host: strings.TrimSuffix(config.Host, "/"), versions: map[string]string{}}
}

// request is one of a script. RV-NAME in path and body is the last version seen of an
// object of that name, TOKEN in path the last continue token.
type request struct {
	method, path, body, media, accept string
	// options are the kind of a body that names none and is sent in protobuf.
	options schema.GroupVersionKind
}

// script sends every request and returns what was answered.
func script(t *testing.T, config *rest.Config) []string {
	a := talk(t, config)

	for _, name := range []string{"a", "b", "c", "d"} {
		a.do("POST", leases, lease(name, "0", ""))
	}
	a.do("POST", leases, lease("a", "0", ""))
	a.do("POST", leases, lease("e", "0", "7"))
	a.do("POST", leases, "{")
	a.do("GET", leases+"/a", "")
	a.do("GET", leases+"/nobody", "")
	a.do("GET", "/apis/coordination.k8s.io/v1/namespaces/answers/nothings", "")
	a.do("PUT", leases+"/a", lease("a", "1", "1"))
	a.do("PUT", leases+"/a", lease("a", "1", a.versions["a"]))
	a.do("PUT", leases+"/a", lease("b", "1", ""))
	a.do("POST", leases, `{"apiVersion":"v1","kind":"List","items":[]}`)
	a.do("POST", leases, `{"apiVersion":"v1","kind":"Secret"}`)
	for _, method := range []string{"PUT", "PATCH", "OPTIONS"} {
		a.do(method, leases, "")
	}
	for _, version := range []string{"0", "RV-a", "nonsense", "99999999"} {
		a.do("GET", leases+"/a?resourceVersion="+version, "")
	}

	for _, query := range []string{
		"", "limit=2", "continue=TOKEN", "limit=1&continue=TOKEN", "continue=nonsense",
		"resourceVersion=0", "resourceVersion=0&limit=2", "resourceVersion=nonsense", "resourceVersion=RV-d",
		"resourceVersion=RV-d&limit=1", "resourceVersion=RV-b&resourceVersionMatch=Exact",
		"resourceVersion=0&resourceVersionMatch=Exact", "resourceVersionMatch=Exact", "resourceVersion=RV-a&resourceVersionMatch=NotOlderThan",
		"resourceVersion=RV-a&resourceVersionMatch=Newest", "resourceVersion=99999999", "sendInitialEvents=true",
		"labelSelector=n%3Da", "labelSelector=n+in+(a,b)&limit=1", "labelSelector=((", "fieldSelector=metadata.name%3Dc", "fieldSelector=metadata.name",
	} {
		a.do("GET", leases+"?"+query, "")
	}
	for _, accept := range []string{
		runtime.ContentTypeProtobuf, "application/vnd.kubernetes.protobuf,application/json",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
		"text/html", "application/yaml", "application/*", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=Foo;g=meta.k8s.io;v=v1",
	} {
		a.accepting("GET", leases, "", accept)
	}
	a.do("DELETE", leases+"/d", `{"preconditions":{"uid":"another"}}`)
	a.do("DELETE", leases+"/nobody", "")

	from := a.versions["a"]
	a.do("PUT", leases+"/b", lease("b", "2", a.versions["b"]))
	a.do("PUT", leases+"/c", strings.ReplaceAll(lease("c", "2", a.versions["c"]), `"n":"c"`, `"n":"other"`))
	a.do("DELETE", leases+"/d", "")
	// A consistent list waits until the real server's watch cache has seen the deletion, which
	// a watch from any version need not.
	a.do("GET", leases, "")
	queries := []string{
		"resourceVersion=" + from, "resourceVersion=" + from + "&labelSelector=n%3Dc", "resourceVersion=" + from + "&fieldSelector=metadata.name%3Dd",
		"", "resourceVersion=0", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "resourceVersion=nonsense",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=n%3Da",
	}
	// Side by side: each lasts as long as events may take to come.
	seen := make([][]string, 2*len(queries))
	var running sync.WaitGroup
	for i, query := range queries {
		running.Go(func() { seen[2*i] = a.watch(query, runtime.ContentTypeJSON) })
		running.Go(func() { seen[2*i+1] = a.watch(query, runtime.ContentTypeProtobuf) })
	}
	running.Wait()
	return append(a.lines, slices.Concat(seen...)...)
}

func lease(name, holder, version string) string {
	return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q,"namespace":"answers","resourceVersion":%q,"labels":{"n":%[1]q}},"spec":{"holderIdentity":%[3]q}}`,
		name, version, holder)
}

func (a *answersOf) do(method, path, body string) {
	a.accepting(method, path, body, runtime.ContentTypeJSON)
}

func (a *answersOf) send(ctx context.Context, r request) *http.Response {
	a.t.Helper()
	a.mu.Lock()
	r.path = strings.ReplaceAll(r.path, "TOKEN", a.token)
	for name, rv := range a.versions {
		r.path = strings.ReplaceAll(r.path, "RV-"+name, rv)
		r.body = strings.ReplaceAll(r.body, `"RV-`+name+`"`, `"`+rv+`"`)
	}
	a.mu.Unlock()
	if !r.options.Empty() {
		r.media, r.body = runtime.ContentTypeProtobuf, a.toProtobuf(r.body, r.options)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, a.host+r.path, strings.NewReader(r.body))
	must(a.t, err)
	req.Header.Set("Accept", r.accept)
	if r.body != "" {
		req.Header.Set("Content-Type", cmp.Or(r.media, runtime.ContentTypeJSON))
	}
	resp, err := a.client.Do(req)
	must(a.t, err)
	return resp
}

// answer sends a request and reads the answer.
func (a *answersOf) answer(r request) (code int, raw []byte) {
	a.t.Helper()
	resp := a.send(a.t.Context(), r)
	raw, err := io.ReadAll(resp.Body)
	must(a.t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, raw
}

func (a *answersOf) accepting(method, path, body, accept string) {
	a.t.Helper()
	resp := a.send(a.t.Context(), request{method: method, path: path, body: body, accept: accept})
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(a.t, err)
	a.lines = append(a.lines, fmt.Sprintf("%s %s (%s): %d %s %s",
		method, path, accept, resp.StatusCode, resp.Header.Get("Content-Type"), a.normal(raw)))
}

// watch reads the events that come within a short time.
func (a *answersOf) watch(query, accept string) (lines []string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 4*time.Second)
	defer cancel()
	path := leases + "?watch=true&" + query
	resp := a.send(ctx, request{method: "GET", path: path, accept: accept})
	defer resp.Body.Close()
	line := fmt.Sprintf("WATCH %s (%s): %d %s", query, accept, resp.StatusCode, resp.Header.Get("Content-Type"))
	if strings.HasPrefix(query, "resourceVersion=") && !strings.Contains(query, "=0") && !strings.Contains(query, "nonsense") {
		line = strings.Replace(line, query[:strings.IndexAny(query+"&", "&")], "resourceVersion=FROM", 1)
	}
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(resp.Body)
		must(a.t, err)
		return []string{line + " " + a.normal(raw)}
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), accept)
	frames := info.StreamSerializer.Framer.NewFrameReader(resp.Body)
	var events []string
	buf := make([]byte, 1<<20)
	for {
		n, err := frames.Read(buf)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, io.EOF) {
				events = append(events, err.Error())
			}
			break
		}
		var e metav1.WatchEvent
		_, _, err = info.StreamSerializer.Serializer.Decode(buf[:n], nil, &e)
		must(a.t, err)
		events = append(events, "  "+e.Type+" "+a.normal(e.Object.Raw))
	}
	if !strings.HasPrefix(query, "resourceVersion=1") && !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "MODIFIED") }) {
		// The order of initial events is nobody's promise.
		last := len(events)
		if last > 0 && strings.Contains(events[last-1], "BOOKMARK") {
			last--
		}
		slices.Sort(events[:last])
	}
	return append([]string{line}, events...)
}

var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// storageError is what a server with etcd adds to a conflict.
var storageError = regexp.MustCompile(`StorageError: .* AdditionalErrorMsg: `)

// generated are the names that end as those that a server makes.
var generated = regexp.MustCompile(`[bcdfghjklmnpqrstvwxz2456789]{5}$`)

var goType = regexp.MustCompile(`into Go value of type .*`)

// causes are the fields of an Invalid and their reasons. A server may name one twice, and its
// words for a kind differ.
func causes(status map[string]any) string {
	details, _ := status["details"].(map[string]any)
	list, _ := details["causes"].([]any)
	var out []string
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			out = append(out, fmt.Sprint(c["field"], " ", c["reason"]))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

var digits = regexp.MustCompile(`[0-9]+`)

// normal is an answer without what must differ: versions are known by whether
// they are there, times and UIDs as well.
func (a *answersOf) normal(raw []byte) string {
	var v map[string]any
	if bytes.HasPrefix(raw, []byte("k8s\x00")) {
		raw = a.fromProtobuf(raw)
	}
	if j, err := yaml.YAMLToJSON(raw); err == nil && bytes.HasPrefix(j, []byte("{")) {
		raw = j
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return strings.TrimSpace(string(raw))
	}
	if v["kind"] == "Status" {
		if v["reason"] == "Invalid" {
			return "Invalid " + causes(v)
		}
		if m, ok := v["message"].(string); ok {
			m = goType.ReplaceAllString(storageError.ReplaceAllString(m, ""), "")
			v["message"] = digits.ReplaceAllString(uids.ReplaceAllString(m, "UID"), "N")
		}
	}
	a.mu.Lock()
	a.strip(v)
	a.mu.Unlock()
	out, err := json.Marshal(v)
	must(a.t, err)
	return string(out)
}

func (a *answersOf) fromProtobuf(raw []byte) []byte {
	meta := runtime.NewScheme()
	metav1.AddToGroupVersion(meta, metav1.Unversioned)
	must(a.t, metav1.AddMetaToScheme(meta))
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		obj, gvk, err = serializer.NewCodecFactory(meta).UniversalDeserializer().Decode(raw, nil, nil)
	}
	must(a.t, err)
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	out, err := json.Marshal(obj)
	must(a.t, err)
	return out
}

// strip takes out of an answer what must differ, and remembers what later
// requests need.
func (a *answersOf) strip(v map[string]any) {
	if m, ok := v["metadata"].(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			if rv, ok := m["resourceVersion"].(string); ok {
				a.versions[name] = rv
			}
			if base, ok := m["generateName"].(string); ok && generated.MatchString(name) && strings.HasPrefix(name, base[:min(len(base), 58)]) {
				m["name"] = base + "…"
			}
		}
		if t, ok := m["continue"].(string); ok && t != "" {
			a.token = t
			m["continue"] = "…"
		}
		for _, k := range []string{"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion"} {
			if s, ok := m[k].(string); ok && s != "" {
				m[k] = "…"
			}
		}
		delete(m, "managedFields")
	}
	if d, ok := v["details"].(map[string]any); ok && d["uid"] != nil {
		d["uid"] = "…"
	}
	if items, ok := v["items"].([]any); ok {
		// A real server has some of its own.
		items = slices.DeleteFunc(items, func(it any) bool {
			o, _ := it.(map[string]any)
			m, _ := o["metadata"].(map[string]any)
			labels, _ := m["labels"].(map[string]any)
			return m["name"] == "kube-root-ca.crt" || m["namespace"] == "kube-system" || labels["endpointslice.kubernetes.io/managed-by"] != nil
		})
		v["items"] = items
		if len(items) == 0 && v["kind"] == "PartialObjectMetadataList" {
			v["items"] = nil // as it would be without its own
		}
		for _, it := range items {
			if o, ok := it.(map[string]any); ok {
				a.strip(o)
			}
		}
	}
}
