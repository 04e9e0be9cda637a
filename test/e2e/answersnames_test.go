//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"k8s.io/apimachinery/pkg/types"
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
func TestTheAPIServerInMemoryHasTheNamesDiscoveryAndGenerationsOfARealOne(t *testing.T) {
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
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	ours := discovered(t, server.Config())
	for gvr, r := range ours {
		other := theirs[gvr]
		if gvr.Resource == "csinodes/status" {
			continue // client-go is of 1.37
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

	counted := 0
	for _, r := range all {
		a, ok := real.changes(r)
		if !ok {
			t.Logf("%s: %s", r.Kind, a)
			continue
		}
		counted++
		if b, _ := memory.changes(r); a != b {
			t.Errorf("changes of %s\n real: %s\n ours: %s", r.Kind, a, b)
		}
	}
	if counted < 50 {
		t.Errorf("the changes of only %d kinds were compared", counted)
	}
}

const (
	template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	selected = `"selector":{"matchLabels":{"a":"b"}},` + template
	job      = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
	hook     = `"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://a.example.com"},"sideEffects":"None","admissionReviewVersions":["v1"]}]`
	rules    = `"matchConstraints":{"resourceRules":[{"apiGroups":["example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["as"]}]}`
)

// contents are what a server wants of a kind beside its metadata, and a merge patch of it that
// it allows. Of other kinds only metadata are changed.
var contents = map[string][2]string{
	"CSIDriver":                        {`"spec":{}`, `{"spec":{"requiresRepublish":true}}`},
	"CSINode":                          {`"spec":{"drivers":[]}`, `{"spec":{"drivers":[{"name":"d","nodeID":"n"}]}}`},
	"CSIStorageCapacity":               {`"storageClassName":"s"`, `{"capacity":"1Gi"}`},
	"ConfigMap":                        {`"data":{}`, `{"data":{"a":"b"}}`},
	"ControllerRevision":               {`"data":{},"revision":1`, `{"revision":2}`},
	"CronJob":                          {`"spec":{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{` + job + `}}}`, `{"spec":{"suspend":true}}`},
	"DaemonSet":                        {`"spec":{` + selected + `}`, `{"spec":{"minReadySeconds":1}}`},
	"Deployment":                       {`"spec":{` + selected + `}`, `{"spec":{"minReadySeconds":1}}`},
	"DeviceClass":                      {`"spec":{}`, `{"spec":{"selectors":[{"cel":{"expression":"true"}}]}}`},
	"EndpointSlice":                    {`"addressType":"IPv4","endpoints":[]`, `{"endpoints":[{"addresses":["10.0.0.1"]}]}`},
	"Endpoints":                        {`"subsets":[]`, `{"subsets":[{"addresses":[{"ip":"10.0.0.1"}]}]}`},
	"FlowSchema":                       {`"spec":{"priorityLevelConfiguration":{"name":"a"}}`, `{"spec":{"matchingPrecedence":7}}`},
	"HorizontalPodAutoscaler":          {`"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"A","name":"a"}}`, `{"spec":{"maxReplicas":4}}`},
	"IPAddress":                        {`"spec":{"parentRef":{"resource":"services","name":"a","namespace":"b"}}`, `{}`},
	"Ingress":                          {`"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":1}}}}`, `{"spec":{"ingressClassName":"a"}}`},
	"IngressClass":                     {`"spec":{"controller":"example.com/a"}`, `{"spec":{"parameters":{"kind":"A","name":"a"}}}`},
	"Job":                              {`"spec":{` + job + `}`, `{"spec":{"suspend":true}}`},
	"Lease":                            {`"spec":{}`, `{"spec":{"holderIdentity":"a"}}`},
	"LeaseCandidate":                   {`"spec":{"leaseName":"a","binaryVersion":"0.1.0","emulationVersion":"0.1.0","strategy":"OldestEmulationVersion"}`, `{}`},
	"LimitRange":                       {`"spec":{"limits":[]}`, `{"spec":{"limits":[{"type":"Pod"}]}}`},
	"MutatingAdmissionPolicy":          {`"spec":{` + rules + `,"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]}`, `{"spec":{"reinvocationPolicy":"IfNeeded"}}`},
	"MutatingAdmissionPolicyBinding":   {`"spec":{"policyName":"a"}`, `{"spec":{"policyName":"b"}}`},
	"MutatingWebhookConfiguration":     {hook, `{"webhooks":null}`},
	"NetworkPolicy":                    {`"spec":{"podSelector":{}}`, `{"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}`},
	"Node":                             {`"spec":{}`, `{"spec":{"unschedulable":true}}`},
	"PersistentVolume":                 {`"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"3M"},"hostPath":{"path":"/a"}}`, `{"spec":{"mountOptions":["a"]}}`},
	"PersistentVolumeClaim":            {`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2M"}}}`, `{}`},
	"Pod":                              {`"spec":{"schedulerName":"none","containers":[{"name":"c","image":"i"}]}`, `{"spec":{"activeDeadlineSeconds":9}}`},
	"PodDisruptionBudget":              {`"spec":{}`, `{"spec":{"minAvailable":1}}`},
	"PodTemplate":                      {template, `{"template":{"metadata":{"labels":{"c":"d"}}}}`},
	"PriorityClass":                    {`"value":1`, `{"description":"a"}`},
	"PriorityLevelConfiguration":       {`"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":3,"limitResponse":{"type":"Reject"}}}`, `{"spec":{"limited":{"nominalConcurrencyShares":4}}}`},
	"ReplicaSet":                       {`"spec":{` + selected + `}`, `{"spec":{"minReadySeconds":1}}`},
	"ReplicationController":            {`"spec":{"selector":{"a":"b"},` + template + `}`, `{"spec":{"minReadySeconds":1}}`},
	"ResourceClaim":                    {`"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"a"}}]}}`, `{}`},
	"ResourceClaimTemplate":            {`"spec":{"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"a"}}]}}}`, `{}`},
	"ResourceQuota":                    {`"spec":{"hard":{}}`, `{"spec":{"hard":{"cpu":"5M"}}}`},
	"ResourceSlice":                    {`"spec":{"driver":"a.example.com","nodeName":"a","pool":{"name":"a","resourceSliceCount":1},"devices":[]}`, `{"spec":{"pool":{"resourceSliceCount":2}}}`},
	"Role":                             {`"rules":[]`, `{"rules":[{"apiGroups":["a"],"resources":["b"],"verbs":["get"]}]}`},
	"ClusterRole":                      {`"rules":[]`, `{"rules":[{"apiGroups":["a"],"resources":["b"],"verbs":["get"]}]}`},
	"RoleBinding":                      {`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a"}`, `{"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"a"}]}`},
	"ClusterRoleBinding":               {`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a"}`, `{"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"a"}]}`},
	"RuntimeClass":                     {`"handler":"a"`, `{"overhead":{"podFixed":{"cpu":"1"}}}`},
	"Secret":                           {`"data":{}`, `{"data":{"a":"dg=="}}`},
	"Service":                          {`"spec":{"ports":[{"port":1}]}`, `{"spec":{"selector":{"a":"b"}}}`},
	"ServiceAccount":                   {`"secrets":[]`, `{"secrets":[{"name":"a"}]}`},
	"ServiceCIDR":                      {`"spec":{"cidrs":["192.168.0.0/16"]}`, `{}`},
	"StatefulSet":                      {`"spec":{"serviceName":"a",` + selected + `}`, `{"spec":{"minReadySeconds":1}}`},
	"StorageClass":                     {`"provisioner":"a"`, `{"allowVolumeExpansion":true}`},
	"ValidatingAdmissionPolicy":        {`"spec":{` + rules + `,"validations":[{"expression":"true"}]}`, `{"spec":{"failurePolicy":"Ignore"}}`},
	"ValidatingAdmissionPolicyBinding": {`"spec":{"policyName":"a","validationActions":["Deny"]}`, `{"spec":{"validationActions":["Warn"]}}`},
	"ValidatingWebhookConfiguration":   {hook, `{"webhooks":null}`},
	"VolumeAttachment":                 {`"spec":{"attacher":"a","nodeName":"a","source":{"persistentVolumeName":"a"}}`, `{}`},
	"VolumeAttributesClass":            {`"driverName":"example.com/a","parameters":{"a":"b"}`, `{}`},
}

// changes creates an object of a resource and changes its labels, annotations and contents. It
// returns where the generations of the answers change, and whether an update without a version is
// refused; or else why the server refuses the object.
func (a *answersOf) changes(r apiserver.Resource) (seen string, ok bool) {
	path, name := pathOf(r), strings.ToLower(r.Kind)
	if r.Kind == "IPAddress" {
		name = "10.0.0.77"
	}
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}`, r.GroupVersion(), r.Kind, name)
	has := contents[r.Kind]
	if has[0] != "" {
		object += "," + has[0]
	}
	last := int64(0)
	for _, req := range []request{
		{method: "POST", path: path, body: object + "}"},
		{path: path + "/" + name, body: `{"metadata":{"labels":{"l":"x"}}}`},
		{path: path + "/" + name, body: `{"metadata":{"annotations":{"a":"x"}}}`},
		{path: path + "/" + name + "/status", body: `{"metadata":{"annotations":{"a":"y"}}}`},
		{path: path + "/" + name, body: cmp.Or(has[1], "{}")},
	} {
		req.accept = runtime.ContentTypeJSON
		if req.method == "" {
			req.method, req.media = "PATCH", string(types.MergePatchType)
		}
		resp := a.send(a.t.Context(), req)
		raw, err := io.ReadAll(resp.Body)
		must(a.t, errors.Join(err, resp.Body.Close()))
		switch {
		case resp.StatusCode == http.StatusNotFound:
			continue // there is no status
		case resp.StatusCode >= 300:
			return fmt.Sprintf("%s %s: %s", req.path, req.body, raw), false
		}
		var obj metav1.PartialObjectMetadata
		must(a.t, json.Unmarshal(raw, &obj))
		if obj.Generation != last {
			last = obj.Generation
			seen += fmt.Sprintf("%d after %s; ", last, req.body)
		}
	}
	resp := a.send(a.t.Context(), request{method: "PUT", path: path + "/" + name, body: object + "}", accept: runtime.ContentTypeJSON})
	raw, err := io.ReadAll(resp.Body)
	must(a.t, errors.Join(err, resp.Body.Close()))
	if strings.Contains(string(raw), "metadata.resourceVersion") {
		seen += a.normal(raw)
	}
	return seen, true
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
	resp := a.send(a.t.Context(), r)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict {
		return "", true
	}
	var st metav1.Status
	must(a.t, json.NewDecoder(resp.Body).Decode(&st))
	if resp.StatusCode != http.StatusUnprocessableEntity || st.Details == nil {
		return fmt.Sprint(resp.StatusCode, " ", st.Message), false
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
