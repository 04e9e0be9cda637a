package fielddiff

import (
	"fmt"
)

// Highlights words in one line what there is to know about an object at a
// glance: phase, node, replicas, conditions, who owns it. It looks for fields
// by the names that Kubernetes' own kinds use, so it has something to say
// about most custom resources too; about others it says what they contain.
func Highlights(obj map[string]any, limits Limits) string {
	var items []item
	for _, fields := range telltales() {
		if v, ok := lookup(obj, fields); ok && v != "" {
			items = append(items, item{fields[len(fields)-1], brief(v, limits.value())})
		}
	}
	items = append(items, conditions(obj)...)
	if owner, ok := controller(obj); ok {
		items = append(items, item{"owner", owner})
	}
	if len(items) == 0 {
		items = contents(obj, limits)
	}
	return join(items, limits.Width)
}

func telltales() [][]string {
	return [][]string{
		{"status", "phase"},
		{"spec", "nodeName"},
		{"status", "podIP"},
		{"spec", "replicas"},
		{"status", "readyReplicas"},
		{"spec", "type"},
		{"spec", "clusterIP"},
		{"spec", "schedule"},
		{"spec", "holderIdentity"},
		{"status", "nodeInfo", "kubeletVersion"},
		{"type"},
		{"reason"},
		{"message"},
		{"note"},
	}
}

func lookup(obj map[string]any, fields []string) (any, bool) {
	var v any = obj
	for _, f := range fields {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[f]; !ok {
			return nil, false
		}
	}
	return v, isScalar(v)
}

// conditions names those that are about being ready or available, or failed.
func conditions(obj map[string]any) []item {
	status, _ := obj["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	var items []item
	for _, v := range list {
		c, _ := v.(map[string]any)
		switch kind, _ := c["type"].(string); kind {
		case "Ready", "Available", "Established", "Complete", "Failed":
			if s, ok := c["status"].(string); ok {
				items = append(items, item{kind, s})
			}
		}
	}
	return items
}

func controller(obj map[string]any) (string, bool) {
	meta, _ := obj["metadata"].(map[string]any)
	owners, _ := meta["ownerReferences"].([]any)
	for _, v := range owners {
		o, _ := v.(map[string]any)
		if is, _ := o["controller"].(bool); !is {
			continue
		}
		kind, _ := o["kind"].(string)
		name, _ := o["name"].(string)
		return kind + "/" + name, true
	}
	return "", false
}

// contents names what the object has besides its identity.
func contents(obj map[string]any, limits Limits) []item {
	var items []item
	for _, k := range unionOfKeys(obj, nil) {
		switch k {
		case "apiVersion", "kind", "metadata":
			continue
		}
		if limits.Hide != nil && limits.Hide(k) {
			if m, ok := obj[k].(map[string]any); ok {
				items = append(items, item{k, fmt.Sprintf("{%d fields}", len(m))})
			}
			continue
		}
		items = append(items, item{k, brief(obj[k], limits.value())})
	}
	return items
}
