package parts

import (
	apiregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A reference's own method has the name of one that objects have.
func reference(e *corev1.Event) (schema.GroupVersionKind, string) {
	return e.InvolvedObject.GroupVersionKind(), e.InvolvedObject.Name
}

func copied(e, to *corev1.Endpoints) string {
	copy(to.Subsets, e.Subsets)
	return e.Subsets[0].Addresses[0].IP
}

func ruleOf(i *networkingv1.Ingress) *networkingv1.IngressRule { return &i.Spec.Rules[0] }

func throughResult(i, to *networkingv1.Ingress) string {
	*ruleOf(to) = i.Spec.Rules[0]
	return i.Spec.Rules[0].Host
}

type into struct{ ports []discoveryv1.EndpointPort }

func throughField(s *discoveryv1.EndpointSlice, to into) *string {
	to.ports[0] = s.Ports[0]
	return s.Ports[0].Name
}

func deletedKey(b *rbacv1.RoleBinding, from map[rbacv1.RoleRef]bool) string {
	delete(from, b.RoleRef)
	return b.RoleRef.Name
}

func received(from chan *nodev1.RuntimeClass) (x any) {
	for x = range from {
	}
	return x
}

func declared(get func() (*corev1.LimitRange, error)) (any, any) {
	var x, err any = get()
	return x, err
}

func keyed(c *apiregistrationv1.ValidatingWebhookConfiguration, seen map[any]bool) { seen[c] = true }
