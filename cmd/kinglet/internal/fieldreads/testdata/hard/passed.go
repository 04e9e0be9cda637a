package hard

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/template"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Objects in what is passed on.
type report struct {
	role  *rbacv1.Role
	count int
}

func inLiteral(r *rbacv1.Role) ([]byte, error) { return json.Marshal(report{r, 1}) }

func inMap(w io.Writer, t *template.Template, h *autoscalingv1.HorizontalPodAutoscaler) error {
	return t.Execute(w, map[string]any{"autoscaler": h})
}

func inSlice(l *coordinationv1.Lease) ([]byte, error) {
	return json.Marshal([]*coordinationv1.Lease{l})
}

func inList(l *rbacv1.ClusterRoleList) ([]byte, error) { return json.Marshal(l) }

type summary struct {
	bindings map[string][]rbacv1.RoleBinding
}

func inVariable(s *summary) ([]byte, error) { return json.Marshal(s) }

// Functions of any type, and functions that are values.
func dump[T any](all ...T) string { return fmt.Sprint(all) }

func typeParameter(s *appsv1.StatefulSet) string { return dump(s) }

type box[T any] struct{ v T }

func (b box[T]) String() string { return fmt.Sprint(b.v) }

func inGeneric(s *storagev1.StorageClass) string { return box[*storagev1.StorageClass]{s}.String() }

func made[T any]() string { return fmt.Sprint(*new(T)) }

func notGiven() string { return made[corev1.PodTemplate]() }

var marshal = json.Marshal

func variable(p *policyv1.PodDisruptionBudget) ([]byte, error) { return marshal(p) }

func literal(r *nodev1.RuntimeClass) {
	print := func(a any) { fmt.Println(a) }
	print(r)
}

func methodValue(p *schedulingv1.PriorityClass) error {
	encode := json.NewEncoder(io.Discard).Encode
	return encode(p)
}

// A function of another module is called by one of the program.
func each(all []networkingv1.NetworkPolicy, f func([]networkingv1.NetworkPolicy) []networkingv1.NetworkPolicy) {
	f(all)
}

func functionValue(all []networkingv1.NetworkPolicy) {
	each(all, slices.Clip[[]networkingv1.NetworkPolicy])
}

// Interfaces.
func converted(v *storagev1.VolumeAttachment) { x := any(v); _ = x }

func assigned(v *storagev1.CSIDriver) { var x any; x = v; _ = x }

func declared(v *storagev1.CSINode) { var x any = v; _ = x }

func sent(v *admissionv1.ValidatingWebhookConfiguration, c chan any) { c <- v }

func returned(v *admissionv1.MutatingWebhookConfiguration) any { return v }

func foreignMetadata(r *appsv1.ReplicaSet) { meta.AsPartialObjectMetadata(r) }

func listMetadata(l *corev1.LimitRangeList) string {
	return l.GetContinue() + l.Items[0].Spec.Limits[0].Default.Cpu().String()
}

// Whole structs.
func mapKey(e *discoveryv1.EndpointSlice) (n int) {
	seen := map[corev1.ObjectReference]int{}
	for i := range e.Endpoints {
		seen[*e.Endpoints[i].TargetRef]++
		n += len(e.Endpoints[i].TargetRef.Name)
	}
	return n
}

func tag(e *networkingv1.IngressClass) bool {
	switch *e.Spec.Parameters {
	case networkingv1.IngressClassParametersReference{}:
		return true
	}
	return e.Spec.Parameters.Name == ""
}

func part(d *appsv1.Deployment) (*appsv1.DaemonSet, bool) {
	return &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: d.Spec.Template}}, d.Spec.Template.Name == ""
}

func assignedPart(c *batchv1.CronJob, to *batchv1.Job) bool {
	to.Spec = *c.Spec.JobTemplate.Spec.DeepCopy()
	return *c.Spec.JobTemplate.Spec.Suspend
}

type subject rbacv1.Subject

func convertedPart(b *rbacv1.ClusterRoleBinding) string {
	return nameOf(subject(b.Subjects[0])) + b.Subjects[0].Name
}

func nameOf(s subject) string { return s.Kind }

// copier reads in a method that only begins like one that copies.
type copier struct{}

func (copier) DeepCopyToken(a *corev1.ServiceAccount) bool { return *a.AutomountServiceAccountToken }
