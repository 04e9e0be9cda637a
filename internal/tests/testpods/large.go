package testpods

import (
	"fmt"
	"math/rand"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Large returns pod i of a template in a round. The pods are as large and as similar as
// those of the benchmarks of whole informers, which another module makes. A round
// changes the status and the time of one managedFields entry. If unique is set, only the
// usual constants occur in more than one pod.
func Large(template, i, round int, unique bool) *corev1.Pod {
	if unique {
		template = 1_000_000 + i
	}
	t := rand.New(rand.NewSource(int64(template)))
	own := rand.New(rand.NewSource(int64(i)<<20 | 1))
	app := fmt.Sprintf("service-%06d", template)
	word := func(r *rand.Rand, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[r.Intn(16)])
		}
		return b.String()
	}
	at := func(seconds int) metav1.Time { return metav1.Unix(1_750_000_000+int64(seconds), 0) }
	key := func(s string) string {
		if unique {
			return s + "-" + word(t, 8)
		}
		return s
	}
	hash, ip := word(t, 10), fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255)
	restarted := i + round*3600
	fields := func(n int) *metav1.FieldsV1 {
		s := `{"f:metadata":{`
		for len(s) < n {
			s += fmt.Sprintf(`"f:%s":{"f:%s":{},"f:name":{}},`, key("annotations"), word(t, 6))
		}
		return FieldsV1(s + `"f:x":{}}}`)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: app + "-" + hash + "-" + word(own, 5), GenerateName: app + "-" + hash + "-",
			Namespace: fmt.Sprintf("tenant-%03d", template%50), UID: types.UID(word(own, 36)),
			ResourceVersion: fmt.Sprint(100_000_000 + round*50_000 + i), Generation: 1, CreationTimestamp: at(i),
			Labels: map[string]string{
				key("app.kubernetes.io/name"): app, key("app.kubernetes.io/instance"): app + "-prod",
				key("app.kubernetes.io/version"): key("v1.2.0"), key("app.kubernetes.io/component"): key("backend"),
				key("app.kubernetes.io/managed-by"): key("Helm"), "pod-template-hash": hash,
			},
			Annotations: map[string]string{
				key("checksum/config"): word(t, 64), key("prometheus.io/scrape"): key("true"),
				key("prometheus.io/port"): key("9090"), key("cni.example.com/attachment"): word(own, 64),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: types.UID(word(t, 36)),
				Controller: to(true), BlockOwnerDeletion: to(true),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: to(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: app, DeprecatedServiceAccount: app, NodeName: fmt.Sprintf("node-%05d.example.internal", i/40),
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: to(int64(template)), RunAsNonRoot: to(true), FSGroup: to(int64(template))},
			SchedulerName:   "default-scheduler", Priority: to(int32(0)), EnableServiceLinks: to(false),
			PreemptionPolicy: to(corev1.PreemptLowerPriority),
			Tolerations: []corev1.Toleration{
				{Key: key("node.kubernetes.io/not-ready"), Operator: "Exists", Effect: "NoExecute", TolerationSeconds: to(int64(300))},
				{Key: key("node.kubernetes.io/unreachable"), Operator: "Exists", Effect: "NoExecute", TolerationSeconds: to(int64(300))},
			},
			Volumes: []corev1.Volume{
				{Name: key("config"), VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}, DefaultMode: to(int32(0o644)),
				}}},
				{Name: key("scratch"), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "kube-api-access-" + word(t, 5), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					DefaultMode: to(int32(0o644)),
					Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: to(int64(3607)), Path: key("token")}},
						{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: key("kube-root-ca.crt")},
							Items:                []corev1.KeyToPath{{Key: key("ca.crt"), Path: key("ca.crt")}},
						}},
						{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
							Path: key("namespace"), FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
						}}}},
					},
				}}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: to(at(i)), QOSClass: corev1.PodQOSBurstable,
			PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIP: fmt.Sprintf("172.16.0.%d", i/40), HostIPs: []corev1.HostIP{{IP: fmt.Sprintf("172.16.0.%d", i/40)}},
		},
	}
	for k, since := range []int{i + 4, i, restarted, restarted, i} {
		kind := []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}[k]
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: "True", LastTransitionTime: at(since), ObservedGeneration: 1,
		})
	}
	for k, name := range []string{key("server"), key("proxy")} {
		image := fmt.Sprintf("registry.example.com/%s/%s-%s:v1.%d", p.Namespace, app, name, t.Intn(40))
		c := corev1.Container{
			Name: name, Image: image,
			Args:  []string{"--config=/etc/" + app, key("--listen=:8000"), key("--log-format=json"), key("--workers=4")},
			Ports: []corev1.ContainerPort{{Name: key("http"), ContainerPort: 8080, Protocol: "TCP"}, {Name: key("metrics"), ContainerPort: 9090, Protocol: "TCP"}},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("700m"), "memory": *resource.NewQuantity(int64(1+t.Intn(8))<<29, resource.BinarySI)},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("150m"), "memory": *resource.NewQuantity(int64(1+t.Intn(8))<<28, resource.BinarySI)},
			},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
			SecurityContext: &corev1.SecurityContext{
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, ReadOnlyRootFilesystem: to(true), AllowPrivilegeEscalation: to(false),
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: p.Spec.Volumes[0].Name, MountPath: "/etc/" + app, ReadOnly: true}, {Name: p.Spec.Volumes[1].Name, MountPath: "/var/cache/" + app},
				{Name: p.Spec.Volumes[2].Name, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
			},
		}
		for j := range 11 {
			c.Env = append(c.Env, corev1.EnvVar{Name: key(fmt.Sprintf("VARIABLE_%02d", j)), Value: app + "-" + word(t, 4+t.Intn(16))})
		}
		for _, path := range []string{"metadata.name", "status.podIP"} {
			c.Env = append(c.Env, corev1.EnvVar{Name: key("POD"), ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}})
		}
		probe := func(path string) *corev1.Probe {
			return &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: key(path), Port: intstr.FromInt32(8080), Scheme: "HTTP"},
			}}
		}
		c.LivenessProbe, c.ReadinessProbe = probe("/healthz"), probe("/readyz")
		p.Spec.Containers = append(p.Spec.Containers, c)
		started, run := i, 0
		if k == 0 {
			started, run = restarted, round
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, RestartCount: int32(run), Image: image, ImageID: image + "@sha256:" + word(t, 64), Started: to(true),
			ContainerID: "containerd://" + word(rand.New(rand.NewSource(int64(i<<20+run*2+k))), 64),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(started)}},
		})
	}
	p.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: to(at(i)), FieldsType: "FieldsV1", FieldsV1: fields(1200)},
		{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: to(at(restarted + 9)), FieldsType: "FieldsV1", FieldsV1: fields(700), Subresource: "status"},
	}
	return p
}

// to returns a pointer to v.
func to[T any](v T) *T { return &v }
