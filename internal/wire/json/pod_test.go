package json

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// podSource makes pods of real size: 9.7 KB of JSON each. unique pods have
// nothing in common with each other.
type podSource struct {
	r      *rand.Rand
	unique bool
}

func newPodSource(unique bool) *podSource {
	return &podSource{r: rand.New(rand.NewSource(1)), unique: unique}
}

func (s *podSource) word(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "bcdfghjklmnpqrstvwxz2456789"[s.r.Intn(27)]
	}
	return string(b)
}

// text is the template's, or the pod's own if pods are unique.
func (s *podSource) text(template int, what string) string {
	if s.unique {
		return what + "-" + s.word(6)
	}
	return fmt.Sprintf("%s-%06d", what, template)
}

func (s *podSource) time() metav1.Time {
	return metav1.NewTime(time.Unix(1_700_000_000+int64(s.r.Intn(1e7)), 0))
}

// pod returns a new pod of a template.
func (s *podSource) pod(template int) *corev1.Pod {
	at, name := s.time(), s.text(template, "web")
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.ObjectMeta = metav1.ObjectMeta{
		Name: name + "-7d9c6b8f5-" + s.word(5), GenerateName: name + "-7d9c6b8f5-", Namespace: s.text(template/10, "ns"),
		UID: types.UID(s.word(36)), ResourceVersion: fmt.Sprint(100_000_000 + s.r.Intn(1e8)), CreationTimestamp: at,
		Labels: map[string]string{}, Annotations: map[string]string{"cni.example.com/id": s.word(40)},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-7d9c6b8f5", UID: types.UID(s.text(template, "6a1f0c5e-93c5-4d0e-9a53-0d0e2a")),
			Controller: to(true), BlockOwnerDeletion: to(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{
			s.managed("kube-controller-manager", "", at, s.text(template, "spec"), 34),
			s.managed("kubelet", "status", s.time(), s.word(12), 19),
		},
	}
	for i := range 6 {
		p.Labels[fmt.Sprintf("app.kubernetes.io/label-%d", i)] = s.text(template, "value")
	}
	for i := range 3 {
		p.Annotations[fmt.Sprintf("example.com/annotation-%d", i)] = s.text(template, "something that is said about it")
	}
	p.Spec = s.spec(template)
	s.status(p, template)
	return p
}

func (s *podSource) managed(manager, subresource string, at metav1.Time, about string, n int) metav1.ManagedFieldsEntry {
	var b strings.Builder
	fmt.Fprintf(&b, `{"f:%s":{".":{}`, about)
	for i := range n {
		fmt.Fprintf(&b, `,"k:{\"name\":\"%d\"}":{".":{},"f:name":{}}`, i)
	}
	b.WriteString("}}")
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
		FieldsV1: testpods.FieldsV1(b.String()), Subresource: subresource,
	}
}

func (s *podSource) spec(template int) corev1.PodSpec {
	seconds := int64(300)
	spec := corev1.PodSpec{
		RestartPolicy: "Always", TerminationGracePeriodSeconds: to(int64(30)), DNSPolicy: "ClusterFirst",
		ServiceAccountName: s.text(template, "account"), DeprecatedServiceAccount: s.text(template, "account"),
		NodeName: fmt.Sprintf("node-%d", s.r.Intn(1250)), SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: "default-scheduler",
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds},
		},
		Priority: to(int32(0)), EnableServiceLinks: to(true), PreemptionPolicy: to(corev1.PreemptLowerPriority),
		Volumes: []corev1.Volume{
			{Name: s.text(template, "config"), VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: s.text(template, "config")}, DefaultMode: to(int32(420)),
			}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "kube-api-access-" + s.text(template, ""), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: to(int32(420)), Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: to(int64(3607)), Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
						Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
					}},
					{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
						{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
					}}},
				},
			}}},
		},
	}
	for i := range 2 {
		spec.Containers = append(spec.Containers, s.container(template, i))
	}
	return spec
}

func (s *podSource) container(template, i int) corev1.Container {
	quantity := resource.MustParse
	c := corev1.Container{
		Name: fmt.Sprintf("container-%d", i), Image: "registry.example.com/team/" + s.text(template, "image") + ":v1.2.3", ImagePullPolicy: "IfNotPresent",
		Args:  []string{"--listen=:8080", "--config=/etc/config/" + s.text(template, "config"), "--verbose", "--leader-elect=false"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}, {Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": quantity("2"), "memory": quantity("3Gi")},
			Requests: corev1.ResourceList{"cpu": quantity("250m"), "memory": quantity("511Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: s.text(template, "config"), MountPath: "/etc/config", ReadOnly: true}, {Name: "data", MountPath: "/var/data"},
			{Name: "kube-api-access-" + s.text(template, ""), MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: to(false), ReadOnlyRootFilesystem: to(true), RunAsNonRoot: to(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
	}
	for j := range 11 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_NUMBER_%d", j), Value: s.text(template, "its value")})
	}
	for _, path := range []string{"metadata.name", "status.podIP"} {
		c.Env = append(c.Env, corev1.EnvVar{
			Name: "POD_" + strings.ToUpper(path[strings.IndexByte(path, '.')+1:]), ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}},
		})
	}
	return c
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080), Scheme: "HTTP"}},
		InitialDelaySeconds: 5, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func (s *podSource) status(p *corev1.Pod, template int) {
	at := s.time()
	ip := fmt.Sprintf("10.%d.%d.%d", s.r.Intn(256), s.r.Intn(256), s.r.Intn(256))
	p.Status = corev1.PodStatus{
		Phase: "Running", HostIP: "192.168.1.7", HostIPs: []corev1.HostIP{{IP: "192.168.1.7"}},
		PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at, QOSClass: "Burstable",
	}
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: "True", LastTransitionTime: at})
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat(s.text(template, "4f2a90"), 5),
			ContainerID: "containerd://" + s.word(64), Started: to(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
}

// next is what the kubelet makes of a pod that restarts a container.
func (s *podSource) next(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	at := s.time()
	p.ResourceVersion = fmt.Sprint(100_000_000 + s.r.Intn(1e8))
	p.ManagedFields[1].Time = &at
	c := &p.Status.ContainerStatuses[s.r.Intn(2)]
	c.RestartCount++
	c.ContainerID = "containerd://" + s.word(64)
	c.State.Running.StartedAt = at
	p.Status.Conditions[2].LastTransitionTime = at
	p.Status.Conditions[3].LastTransitionTime = at
	return p
}

func encodePod(t testing.TB, p *corev1.Pod) []byte {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// to returns a pointer to v.
func to[T any](v T) *T { return &v }
