package structure

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/internal/testrepeat"
	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

var objects = flag.Int("objects", testrepeat.Times(4), "how many objects of each kind are shared")

func newRand(t testing.TB) *rand.Rand {
	return rand.New(rand.NewSource(int64(testseed.Of(t))))
}

// kinds are the Go types of client-go's scheme.
func kinds() []reflect.Type {
	seen := map[reflect.Type]bool{}
	var types []reflect.Type
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		if !seen[typ] {
			seen[typ] = true
			types = append(types, typ)
		}
	}
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name())
	})
	return types
}

// filler fills objects with few different values, so that they repeat, among
// them quantities that remember their text and such that do not.
func filler(rnd *rand.Rand) *randfill.Filler {
	own := func(serializer.CodecFactory) []any {
		return []any{
			func(q *resource.Quantity, c randfill.Continue) {
				*q = resource.MustParse([]string{"0", "100m", "1.5Gi", "12345678901234567890123", "-7"}[c.Intn(5)])
				if c.Bool() {
					_ = q.String()
				}
			},
			func(s *string, c randfill.Continue) { *s = fmt.Sprintf("text %d", c.Intn(20)) },
			func(j *metav1.ManagedFieldsEntry, c randfill.Continue) {
				c.FillNoCustom(j)
				j.FieldsV1 = testpods.FieldsV1(fmt.Sprintf(`{"f:%d":{}}`, c.Intn(5)))
			},
		}
	}
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own), rand.NewSource(rnd.Int63()), scheme.Codecs).
		NilChance(.3).NumElements(0, 3)
}

// mutate fills something in an object again.
func mutate(f *randfill.Filler, rnd *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() > 0 && v.Type() != reflect.TypeFor[time.Time]() && v.Type() != reflect.TypeFor[resource.Quantity]() && rnd.Intn(8) > 0 {
			mutate(f, rnd, v.Field(rnd.Intn(v.NumField())))
			return
		}
	case reflect.Pointer:
		if !v.IsNil() && rnd.Intn(5) > 0 {
			mutate(f, rnd, v.Elem())
			return
		}
	case reflect.Slice:
		if v.Len() > 0 && rnd.Intn(5) > 0 {
			mutate(f, rnd, v.Index(rnd.Intn(v.Len())))
			return
		}
	}
	if v.CanAddr() && v.CanSet() && v.Kind() != reflect.Interface {
		f.Fill(v.Addr().Interface())
	}
}

// sharing shares objects of type T.
type sharing[T any] struct{ *Sharer }

func newSharing[T any](t testing.TB, table *share.Table) sharing[T] {
	t.Helper()
	plan, err := Compile(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return sharing[T]{plan.Sharer(share.NewSession(table))}
}

func (s sharing[T]) share(obj, last *T) *T {
	return (*T)(s.Share(unsafe.Pointer(obj), unsafe.Pointer(last)))
}

// newPod is a pod of about 6 KB in protobuf, one of the replicas of a template,
// of which every string is its own.
func newPod(template, replica, version int) *corev1.Pod {
	text := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	yes, grace, user, mode := true, int64(30), int64(1000), int32(420)
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, template%60, replica%60, 0, time.UTC))
	changed := metav1.NewTime(at.Add(time.Duration(version) * time.Second))
	quantity := func(s string) resource.Quantity { return resource.MustParse(s) }
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: text("namespace-%d", template%50), Name: text("app-%d-7d9f-%05d", template, replica),
			UID: "4d1f5a6c-0000-4000-8000-000000000000", ResourceVersion: text("%09d", version), CreationTimestamp: at,
			Labels: map[string]string{"app.kubernetes.io/name": text("app-%d", template), "app.kubernetes.io/instance": text("i-%d", template),
				"pod-template-hash": text("7d9f%d", template), "tier": text("backend"), "team": text("team-%d", template%20), "version": text("v1.%d", template%7)},
			Annotations: map[string]string{"prometheus.io/scrape": text("true"), "prometheus.io/port": text("9090"),
				"checksum/config": text("%064d", template), "example.com/unique": text("%064d", replica)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: text("apps/v1"), Kind: text("ReplicaSet"), Name: text("app-%d-7d9f", template), UID: "x", Controller: &yes, BlockOwnerDeletion: &yes}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: text("kube-controller-manager"), Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
					FieldsV1: testpods.FieldsV1(text(`{"f:metadata":{"f:labels":{"f:%01200d":{}}}}`, template%3))},
				{Manager: text("kubelet"), Operation: "Update", APIVersion: "v1", Time: &changed, FieldsType: "FieldsV1", Subresource: "status",
					FieldsV1: testpods.FieldsV1(text(`{"f:status":{"f:%0700d":{}}}`, template%3))},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: text("node-%d", replica%1250), ServiceAccountName: text("app-%d", template), RestartPolicy: "Always", DNSPolicy: "ClusterFirst",
			SchedulerName: text("default-scheduler"), TerminationGracePeriodSeconds: &grace, EnableServiceLinks: &yes,
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, RunAsNonRoot: &yes},
			Tolerations: []corev1.Toleration{{Key: text("node.kubernetes.io/not-ready"), Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &grace},
				{Key: text("node.kubernetes.io/unreachable"), Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &grace}},
			Volumes: []corev1.Volume{
				{Name: text("config"), VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: text("app-%d", template)}, DefaultMode: &mode}}},
				{Name: text("cache"), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: text("token"), VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: text("token")}}}, DefaultMode: &mode}}},
			},
		},
		Status: corev1.PodStatus{Phase: "Running", HostIP: text("10.0.0.%d", replica%250), PodIP: text("10.1.%d.%d", replica/250, replica%250), StartTime: &at, QOSClass: "Burstable"},
	}
	for i := range 2 {
		c := corev1.Container{Name: text("c%d", i), Image: text("registry.example.com/team/app-%d:v1", template), ImagePullPolicy: "IfNotPresent",
			Args:  []string{text("--listen=:8080"), text("--level=info"), text("--shards=%d", template), text("--zone=a")},
			Ports: []corev1.ContainerPort{{Name: text("http"), ContainerPort: 8080, Protocol: "TCP"}, {Name: text("metrics"), ContainerPort: 9090, Protocol: "TCP"}},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": quantity("500m"), "memory": quantity("1Gi")},
				Requests: corev1.ResourceList{"cpu": quantity("100m"), "memory": quantity("512Mi")}},
			LivenessProbe:   &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: text("/healthz")}}},
			ReadinessProbe:  &corev1.Probe{PeriodSeconds: 5, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: text("/readyz")}}},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes},
		}
		for j := range 13 {
			c.Env = append(c.Env, corev1.EnvVar{Name: text("VARIABLE_%d", j), Value: text("value of app %d, number %d", template, j)})
		}
		for j := range 3 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: text("config"), MountPath: text("/etc/app/%d", j), ReadOnly: true})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: text("c%d", i), Ready: true, RestartCount: int32(version),
			Image: text("registry.example.com/team/app-%d:v1", template), ImageID: text("sha256:%064d", template), ContainerID: text("containerd://%064d", replica*2+i),
			Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: changed}}})
	}
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: "True", LastTransitionTime: changed})
	}
	return p
}
