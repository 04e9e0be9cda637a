package testpods

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// template is the pod template of a Deployment.
type template struct {
	number    int
	namespace string
	// app is the Deployment's name, hash its ReplicaSet's.
	app, hash string
	owner     types.UID
	created   int64 // seconds
	images    [2]image
	// access is the volume of the service account's token.
	access string
	rnd    *rand.Rand
}

type image struct{ name, digest string }

// containers are named alike in every template, as a mesh does it.
var containers = [2]string{"server", "proxy"}

// environment is the vocabulary of which each container has 13 words.
var environment = [...]string{
	"LOG_LEVEL", "DATABASE_URL", "CACHE_ADDR", "QUEUE_TOPIC", "HTTP_PORT", "GRPC_PORT", "REGION", "CLUSTER_NAME",
	"FEATURES", "TRACE_RATIO", "MAX_CONNS", "TIMEOUT", "GOMAXPROCS", "SHARD_COUNT", "TLS_CERT", "METRICS_ADDR",
	"RETRY_LIMIT", "BUCKET", "AUDIENCE", "ISSUER_URL",
}

// created is when the first templates were rolled out.
const firstCreated = 1_750_000_000

func (c *Collection) template(number int) *template {
	rnd := c.draw(drawTemplate, number, 0)
	t := &template{
		number:    number,
		namespace: namespaceName(number * c.opts.Namespaces / c.opts.Templates),
		app:       fmt.Sprintf("service-%06d", number),
		hash:      word(rnd, 10),
		owner:     uid(rnd),
		created:   firstCreated + rnd.Int64N(180*24*3600),
		access:    "kube-api-access-" + word(rnd, 5),
		rnd:       rnd,
	}
	for k, name := range containers {
		t.images[k] = image{
			name:   fmt.Sprintf("registry.example.com/%s/%s-%s:v1.%d.%d", t.namespace, t.app, name, rnd.IntN(40), rnd.IntN(10)),
			digest: "sha256:" + hexadecimal(rnd, 64),
		}
	}
	return t
}

// namespaceName names a namespace such that names rise with the number.
func namespaceName(number int) string { return fmt.Sprintf("tenant-%03d", number) }

func (t *template) labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       t.app,
		"app.kubernetes.io/instance":   t.app + "-" + t.namespace,
		"app.kubernetes.io/version":    fmt.Sprintf("v1.%d.0", t.number%40),
		"app.kubernetes.io/component":  "backend",
		"app.kubernetes.io/managed-by": "Helm",
		"pod-template-hash":            t.hash,
	}
}

// annotations returns the three that all pods of the template have.
func (t *template) annotations() map[string]string {
	return map[string]string{
		"checksum/config":      hexadecimal(t.rnd, 64),
		"prometheus.io/scrape": "true",
		"prometheus.io/port":   "9090",
	}
}

func (t *template) spec(node string) corev1.PodSpec {
	no, yes, grace, priority := false, true, int64(30), int32(0)
	preempt := corev1.PreemptLowerPriority
	user := int64(1000 + t.number)
	spec := corev1.PodSpec{
		Volumes:                       t.volumes(),
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: &grace,
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            t.app,
		DeprecatedServiceAccount:      t.app,
		NodeName:                      node,
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &user, RunAsNonRoot: &yes, FSGroup: &user},
		SchedulerName:                 "default-scheduler",
		Tolerations: []corev1.Toleration{
			toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable"),
		},
		Priority:           &priority,
		EnableServiceLinks: &no,
		PreemptionPolicy:   &preempt,
	}
	for k, name := range containers {
		spec.Containers = append(spec.Containers, t.container(k, name))
	}
	return spec
}

func toleration(key string) corev1.Toleration {
	seconds := int64(300)
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

func (t *template) volumes() []corev1.Volume {
	mode, expires := int32(0o644), int64(3607)
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: t.app + "-config"}, DefaultMode: &mode,
		}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: t.access, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expires, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
			DefaultMode: &mode,
		}}},
	}
}

func (t *template) container(k int, name string) corev1.Container {
	no, yes := false, true
	c := corev1.Container{
		Name:  name,
		Image: t.images[k].name,
		Args: []string{
			"--config=/etc/" + t.app + "/config.yaml", fmt.Sprintf("--listen=:%d", 8000+k), "--log-format=json",
			fmt.Sprintf("--workers=%d", 1+t.rnd.IntN(32)),
		},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: int32(8080 + k), Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: int32(9090 + k), Protocol: corev1.ProtocolTCP},
		},
		Env: t.env(k),
		Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(500+100*t.rnd.IntN(10)), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(int64(1+t.rnd.IntN(8))<<29, resource.BinarySI),
			},
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(100+50*t.rnd.IntN(8)), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(int64(1+t.rnd.IntN(8))<<28, resource.BinarySI),
			},
		},
		LivenessProbe:            probe("/healthz", 8080+k, 10),
		ReadinessProbe:           probe("/readyz", 8080+k, 5),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		SecurityContext: &corev1.SecurityContext{
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			ReadOnlyRootFilesystem:   &yes,
			AllowPrivilegeEscalation: &no,
		},
	}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/" + t.app, ReadOnly: true},
		{Name: "scratch", MountPath: "/var/cache/" + t.app},
		{Name: t.access, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
	}
	return c
}

// env are 13 variables: eleven values and two references.
func (t *template) env(k int) []corev1.EnvVar {
	from := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
		}}
	}
	vars := []corev1.EnvVar{from("POD_NAME", "metadata.name"), from("POD_IP", "status.podIP")}
	start := (t.number + 7*k) % len(environment)
	for j := range 11 {
		name := environment[(start+j)%len(environment)]
		vars = append(vars, corev1.EnvVar{Name: name, Value: t.app + "-" + word(t.rnd, 4+t.rnd.IntN(16))})
	}
	return vars
}

func probe(path string, port int, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(int32(port)), Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: 5, TimeoutSeconds: 1, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: 3,
	}
}
