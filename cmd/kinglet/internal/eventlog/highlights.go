package eventlog

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// highlights words what there is to know about an object at a glance. It looks for fields
// by the names that Kubernetes' own kinds use, which most custom resources use too; of
// others it shows what they contain.
func highlights(obj map[string]any, l limits) string {
	var items []item
	for _, fields := range [][]string{
		{"status", "phase"}, {"spec", "nodeName"}, {"status", "podIP"}, {"spec", "replicas"}, {"status", "readyReplicas"}, {"spec", "type"},
		{"spec", "clusterIP"}, {"spec", "schedule"}, {"spec", "holderIdentity"}, {"status", "nodeInfo", "kubeletVersion"},
		{"type"}, {"reason"}, {"message"}, {"note"},
	} {
		if v, found, _ := unstructured.NestedFieldNoCopy(obj, fields...); found && isScalar(v) && v != "" {
			items = append(items, item{fields[len(fields)-1], brief(v, l.value)})
		}
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(obj, "status", "conditions")
	list, _ := conditions.([]any)
	for _, v := range list {
		c, _ := v.(map[string]any)
		kind, _ := c["type"].(string)
		if status, ok := c["status"].(string); ok && slices.Contains([]string{"Ready", "Available", "Established", "Complete", "Failed"}, kind) {
			items = append(items, item{kind, brief(status, l.value)})
		}
	}
	owners, _, _ := unstructured.NestedFieldNoCopy(obj, "metadata", "ownerReferences")
	list, _ = owners.([]any)
	for _, v := range list {
		if o, _ := v.(map[string]any); o["controller"] == true {
			items = append(items, item{"owner", brief(o["kind"], l.value) + "/" + brief(o["name"], l.value)})
		}
	}
	if len(items) == 0 {
		for _, k := range keysOf(obj, nil) {
			if k != "apiVersion" && k != "kind" && k != "metadata" {
				items = append(items, item{k, brief(obj[k], l.value)})
			}
		}
	}
	return join(items, l.width)
}
