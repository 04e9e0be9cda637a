//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

const (
	template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	selected = `"selector":{"matchLabels":{"a":"b"}},` + template
	job      = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`
	involved = `{"kind":"Pod","namespace":"answers","name":"a"}`
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
	"Event":                            {`"involvedObject":` + involved + `,"regarding":` + involved + `,"type":"Normal","reason":"r","action":"a","eventTime":"2020-01-01T00:00:00.000000Z","reportingComponent":"example.com/c","reportingController":"example.com/c","reportingInstance":"i"`, `{}`},
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
	"PersistentVolumeClaim":            {`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2M"}},"storageClassName":"none"}`, `{}`},
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

// life are requests about an object NAME, of which OBJECT are the apiVersion, kind and contents.
// Those without a method are merge patches; a path with ALL is that of every namespace.
var life = []request{
	{path: "/NAME", body: `{"metadata":{"labels":{"l":"x"}}}`},
	{path: "/NAME", body: `{"metadata":{"annotations":{"a":"x"}}}`, accept: runtime.ContentTypeYAML},
	{path: "/NAME", body: `{"metadata":{"ownerReferences":[` + stranger + `]}}`, accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
	{path: "/NAME", body: `{"metadata":{"generation":7,"managedFields":[{}]}}`},
	{path: "/NAME", body: "CHANGE"},
	{path: "/NAME", body: "CHANGE"},
	{method: "GET", path: "ALL?labelSelector=l%3Dx"},
	{method: "GET", path: "ALL?fieldSelector=metadata.name%3DNAME"},
	{path: "/NAME/status", body: `{"metadata":{"annotations":{"a":"y"}}}`},
	{path: "/NAME/status", body: `{"metadata":{"labels":{"l":"y"}}}`},
	{path: "/NAME/status", body: `{"metadata":{"ownerReferences":null}}`},
	{path: "/NAME/status", body: `{"metadata":{"finalizers":["example.com/s"]}}`},
	{path: "/NAME/status", body: `{"metadata":{"finalizers":null}}`},
	{path: "/NAME/status", body: `{"metadata":{"generation":9}}`},
	{path: "/NAME/status", body: "CHANGE"},
	{method: "GET", path: "/NAME/status"},
	{method: "PUT", path: "/NAME/status?dryRun=All", body: `{OBJECT,"metadata":{"name":"NAME","resourceVersion":"RV-NAME","labels":{"l":"z"},"annotations":{"a":"z"}}}`},
	{method: "PUT", path: "/NAME/status?dryRun=All", body: `{OBJECT,"metadata":{"name":"NAME","resourceVersion":"1"}}`},
	{method: "PUT", path: "/NAME/status?dryRun=All", body: `{OBJECT,"metadata":{"name":"NAME"}}`},
	{method: "PUT", path: "/NAME", body: `{OBJECT,"metadata":{"name":"NAME","resourceVersion":"1"}}`},
	{method: "PUT", path: "/NAME", body: `{OBJECT,"metadata":{"name":"NAME","uid":"11111111-2222-3333-4444-555555555555"}}`},
	{method: "PUT", path: "/NAME?dryRun=All", body: `{OBJECT,"metadata":{"name":"NAME"}}`},
	{method: "PUT", path: "/not-NAME/status?dryRun=All", body: `{OBJECT,"metadata":{"name":"not-NAME","resourceVersion":"1"}}`},
	{method: "POST", body: `{OBJECT,"metadata":{"name":"NAME"}}`},
	{method: "POST", body: `{OBJECT,"metadata":{"name":"NAME","resourceVersion":"5"}}`},
	{path: "/not-NAME", body: `{}`},
	{path: "/not-NAME", body: `{"metadata":{"uid":"11111111-2222-3333-4444-555555555555"}}`},
	{method: "GET", path: "?fieldSelector=metadata.name%3DNAME"},
	{method: "GET", path: "?fieldSelector=metadata.name%3DNAME,metadata.namespace%3Danswers"},
	{method: "GET", path: "?fieldSelector=spec.nothing%3DNAME"},
	{method: "GET", path: "?fieldSelector=name%3DNAME"},
	{method: "GET", path: "?limit=0&resourceVersion=0&resourceVersionMatch=Exact"},
	{method: "DELETE", path: "/NAME?dryRun=All&propagationPolicy=Background"},
	{method: "GET", path: "/NAME"},
	{method: "DELETE", path: "/NAME", body: `{"propagationPolicy":"Nonsense"}`},
	{method: "DELETE", path: "/NAME", body: `{"propagationPolicy":"Background","gracePeriodSeconds":-1,"dryRun":["All"]}`},
	{path: "/NAME", body: `{"metadata":{"finalizers":["example.com/f"]}}`}, // from here on its controllers may act first
	{method: "DELETE", path: "/NAME", body: `{"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}}`},
	{method: "DELETE", path: "/NAME", body: `{"preconditions":{"resourceVersion":"1"}}`},
	{method: "DELETE", path: "/NAME?dryRun=All&propagationPolicy=Background"},
	{method: "GET", path: "/NAME"},
	{method: "DELETE", path: "/NAME", body: `{"propagationPolicy":"Background","preconditions":{"resourceVersion":"RV-NAME"}}`},
	{method: "GET", path: "/NAME"},
	{method: "DELETE", path: "/NAME", body: `{"propagationPolicy":"Background"}`},
	{method: "GET", path: "/NAME"},
	{method: "POST", body: `{OBJECT,"metadata":{"name":"NAME"}}`},
	{path: "/NAME", body: `{"metadata":{"labels":{"m":"x"}}}`},
	{path: "/NAME", body: `{"metadata":{"finalizers":["example.com/f","example.com/g"]}}`},
	{path: "/NAME", body: `{"metadata":{"deletionTimestamp":null}}`},
	{path: "/NAME", body: `{"metadata":{"deletionGracePeriodSeconds":null}}`},
	{path: "/NAME", body: `{"metadata":{"deletionGracePeriodSeconds":77}}`},
	{path: "/NAME", body: "CHANGE"},
	{path: "/NAME/status", body: `{"metadata":{"finalizers":null}}`},
	{path: "/NAME", body: `{"metadata":{"finalizers":null}}`},
	{method: "GET", path: "/NAME"},
	{method: "DELETE", path: "/NAME", body: `{"propagationPolicy":"Background"}`},
	{method: "POST", body: `{OBJECT,"metadata":{"name":"NAME","generation":8,"uid":"11111111-2222-3333-4444-555555555555","labels":{"l":"x"}}}`},
	{method: "DELETE", path: "?labelSelector=l%3Dy", body: `{"propagationPolicy":"Background"}`},
	{method: "GET", path: "/NAME"},
	{method: "DELETE", path: "?labelSelector=l%3Dx", body: `{"propagationPolicy":"Background"}`},
	{method: "GET", path: "/NAME"},
}

// attended are the kinds that a real control plane does not leave to us once they have no
// finalizer, or are deleted.
const attended = "Endpoints Namespace PersistentVolume PersistentVolumeClaim ServiceCIDR VolumeAttributesClass"

// live sends a life to a server, in protobuf as typed clients do or in JSON, and returns what is
// answered about metadata.
func (a *answersOf) live(r apiserver.Resource, proto bool) (seen []string) {
	name := strings.ToLower(r.Kind)
	if r.Kind == "IPAddress" {
		name = "10.0.0.7"
	}
	if proto {
		name += "7"
	}
	object := fmt.Sprintf(`"apiVersion":%q,"kind":%q`, r.GroupVersion(), r.Kind)
	if has := contents[r.Kind][0]; has != "" {
		object += "," + has
	}
	put := strings.NewReplacer("NAME", name, "OBJECT", object, "CHANGE", cmp.Or(contents[r.Kind][1], "{}"))
	create := request{method: "POST", body: `{OBJECT,"metadata":{"name":"NAME"}}`}
	for i, req := range append([]request{create}, life...) {
		attends := slices.Contains(strings.Fields(attended), r.Kind)
		if strings.Contains(req.body, "example.com/f") && attends {
			break
		}
		step := fmt.Sprintf("%s %s %s", req.method, req.path, req.body)
		req.body, req.accept = put.Replace(req.body), cmp.Or(req.accept, runtime.ContentTypeJSON)
		switch {
		case req.method == "":
			req.method, req.media = "PATCH", string(types.MergePatchType)
		case proto && req.body != "":
			req.options = r.GroupVersion().WithKind("DeleteOptions")
		}
		if proto && req.accept == runtime.ContentTypeJSON {
			req.accept = runtime.ContentTypeProtobuf
		}
		path := pathOf(r)
		if rest, ok := strings.CutPrefix(req.path, "ALL"); ok {
			path, req.path = strings.Replace(path, "/namespaces/answers", "", 1), rest
		}
		req.path = path + put.Replace(req.path)
		code, raw := a.answer(req)
		for range 20 { // controllers write as well
			if code != http.StatusConflict || !strings.Contains(step, "RV-NAME") {
				break
			}
			_, now := a.answer(request{method: "GET", path: path + "/" + name, accept: runtime.ContentTypeJSON})
			a.normal(now)
			code, raw = a.answer(req)
		}
		if i == 0 && code != http.StatusCreated {
			return []string{a.normal(raw)}
		}
		said := a.metadata(req.method, code, raw)
		if req.method == http.MethodDelete && code == http.StatusOK && (attends || r.Kind == "Pod") {
			said = "" // what is marked for others' finalizers, or as a pod is while it ends
		}
		seen = append(seen, fmt.Sprintf("%s: %d %s", step, code, said))
	}
	return seen
}

// toProtobuf encodes an object, which is of kind if it names none.
func (a *answersOf) toProtobuf(body string, kind schema.GroupVersionKind) string {
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(body), &kind, nil)
	must(a.t, err)
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	b, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, gvk.GroupVersion()), obj)
	must(a.t, err)
	return string(b)
}

// byOthers is what defaults, admission and controllers add to metadata.
var byOthers = map[string]string{
	"annotations": "deployment.kubernetes.io/revision deprecated.daemonset.template.generation node.alpha.kubernetes.io/ttl",
	"finalizers":  "kubernetes.io/pv-protection kubernetes.io/pvc-protection kubernetes.io/vac-protection networking.k8s.io/service-cidr-finalizer",
	"labels":      "a batch.kubernetes.io/controller-uid batch.kubernetes.io/job-name controller-uid job-name kubernetes.io/metadata.name",
}

// metadata are those of an answer, or of the items of a list, or a Status.
func (a *answersOf) metadata(method string, code int, raw []byte) string {
	normal := a.normal(raw)
	if code >= http.StatusMultipleChoices {
		if rest, ok := strings.CutPrefix(normal, "Invalid "); ok {
			causes := slices.DeleteFunc(strings.Split(rest, ", "), func(c string) bool {
				return strings.HasPrefix(method, "P") && !strings.HasPrefix(c, "metadata.") // not GET and DELETE
			})
			return "Invalid " + strings.Join(causes, ", ")
		}
		return normal
	}
	var obj struct {
		Kind     string
		Metadata map[string]any
		Items    []struct{ Metadata struct{ Name string } }
	}
	must(a.t, json.Unmarshal([]byte(normal), &obj))
	if obj.Kind == "Status" {
		return normal
	}
	for field, of := range byOthers {
		here := strings.Fields(of)
		switch v := obj.Metadata[field].(type) {
		case map[string]any:
			maps.DeleteFunc(v, func(k string, _ any) bool { return slices.Contains(here, k) })
			if len(v) == 0 {
				delete(obj.Metadata, field)
			}
		case []any:
			v = slices.DeleteFunc(v, func(f any) bool { return slices.Contains(here, f.(string)) })
			if obj.Metadata[field] = v; len(v) == 0 {
				delete(obj.Metadata, field)
			}
		}
	}
	out, err := json.Marshal(obj.Metadata)
	must(a.t, err)
	said := string(out)
	for _, it := range obj.Items {
		said += " " + it.Metadata.Name
	}
	return said
}
