//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
)

// informed runs an informer, and returns the first object it has that ok is true of.
func informed[T metav1.Object](t *testing.T, config *rest.Config, gvr schema.GroupVersionResource, opts source.Options, ok func(T) bool) T {
	t.Helper()
	src, err := source.FromConfig[T](config, gvr, opts)
	must(t, err)
	found := make(chan T, 1)
	look := func(obj T) {
		if ok(obj) {
			select {
			case found <- obj:
			default:
			}
		}
	}
	informer, err := kinglet.New(src, kinglet.Options[T]{OnError: func(err error) { t.Error(err) }})
	must(t, err)
	_, err = informer.AddHandler(kinglet.HandlerFuncs[T]{
		OnAdd:    func(_ context.Context, obj T, _ bool) { look(obj) },
		OnUpdate: func(_ context.Context, _, obj T) { look(obj) },
	}, kinglet.HandlerOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	defer func() { cancel(); <-done }()
	select {
	case obj := <-found:
		return obj
	case <-ctx.Done():
		t.Fatalf("no such object of %s", gvr.Resource)
		panic("unreachable")
	}
}

// tripper is a function as a RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A real server takes ";drop=" for an Accept header, refuses an object that is not whole,
// in the words of its mark, and takes a patch of one.
func TestAServerRefusesAnObjectThatIsNotWhole(t *testing.T) {
	t.Parallel()
	config := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program}).Config(t)
	client := kubernetes.NewForConfigOrDie(config)
	ctx := t.Context()
	meta := metav1.ObjectMeta{Namespace: "default", Name: "lean", Labels: map[string]string{"app": "lean"}, Annotations: map[string]string{"a": "b"}}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/image", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}}
	_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b", "c": "d"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: pod},
	}}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: pod}, metav1.CreateOptions{})
	must(t, err)

	refused := func(what string, err error) {
		t.Helper()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "this object is not whole: patch it, or get it live from the server") {
			t.Errorf("%s: %v", what, err)
		}
	}
	pods, deployments, configMaps := corev1.SchemeGroupVersion.WithResource("pods"), appsv1.SchemeGroupVersion.WithResource("deployments"), corev1.SchemeGroupVersion.WithResource("configmaps")
	named := func(obj metav1.Object) bool { return obj.GetName() == "lean" }

	p := informed(t, config, pods, source.Options{Keep: []string{"spec.containers.image", "status.phase"}}, func(p *corev1.Pod) bool { return named(p) })
	want := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "example.com/image"}}}, Status: corev1.PodStatus{Phase: p.Status.Phase}}
	if want.ObjectMeta = p.ObjectMeta; !equality.Semantic.DeepEqual(p, want) || p.Status.Phase == "" || p.UID == "" || p.Labels["app"] != "lean" || len(p.ManagedFields) > 0 || !source.IsPartial(p) {
		t.Errorf("of the pod is held %+v", p)
	}
	p.ResourceVersion = "" // whatever scheduler and controllers write meanwhile
	_, err = client.CoreV1().Pods("default").Update(ctx, p.DeepCopy(), metav1.UpdateOptions{})
	refused("an update of a pod", err)
	_, err = client.CoreV1().Pods("default").UpdateStatus(ctx, p.DeepCopy(), metav1.UpdateOptions{})
	refused("an update of a pod's status", err)

	d := informed(t, config, deployments, source.Options{Drop: []string{"metadata.annotations", "spec.template"}}, func(d *appsv1.Deployment) bool { return named(d) })
	if d.Spec.Selector == nil || len(d.Spec.Template.Spec.Containers) > 0 {
		t.Errorf("of the deployment is held %+v", d.Spec)
	}
	d.ResourceVersion = ""
	_, err = client.AppsV1().Deployments("default").Update(ctx, d.DeepCopy(), metav1.UpdateOptions{})
	refused("an update of a deployment", err)

	u := informed(t, config, configMaps, source.Options{Keep: []string{"data.a"}}, func(u *unstructured.Unstructured) bool { return named(u) })
	if data, _, _ := unstructured.NestedMap(u.Object, "data"); len(data) != 1 || data["a"] != "b" {
		t.Errorf("of the config map is held %v", u.Object)
	}
	_, err = dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("default").Update(ctx, u.DeepCopy(), metav1.UpdateOptions{})
	refused("an update of an unstructured config map", err)

	// Labels that change make an object whole, and back. The server lists metadata, and what
	// is whole beside it.
	opts := source.Options{Drop: []string{source.DropManagedFields}, WholeLabels: labels.SelectorFromSet(labels.Set{"mine": "yes"})}
	var beside atomic.Int64
	config = rest.CopyConfig(config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			if q := r.URL.Query(); q.Get("labelSelector") == "mine=yes" && q.Get("resourceVersionMatch") == "Exact" {
				beside.Add(1)
			}
			return rt.RoundTrip(r)
		})
	})
	partial := func(c *corev1.ConfigMap) bool { return named(c) && source.IsPartial(c) && len(c.Data) == 0 }
	whole := func(c *corev1.ConfigMap) bool { return named(c) && !source.IsPartial(c) && len(c.Data) == 2 }
	c := informed(t, config, configMaps, opts, partial)
	patch := `{"metadata":{"labels":{"mine":"yes"}}}`
	_, err = client.CoreV1().ConfigMaps("default").Patch(ctx, c.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, err)
	c = informed(t, config, configMaps, opts, whole)
	if beside.Load() != 1 {
		t.Errorf("%d lists of whole objects beside metadata, want 1: the first list has none to be whole", beside.Load())
	}
	if c.Annotations["a"] != "b" {
		t.Errorf("annotations %v", c.Annotations)
	}
	_, err = client.CoreV1().ConfigMaps("default").Update(ctx, c.DeepCopy(), metav1.UpdateOptions{})
	must(t, err)
}

// Where a part of a status may be kept, a real server refuses to have the rest removed.
func TestAServerRefusesThePartOfAStatusThatMayBeKept(t *testing.T) {
	t.Parallel()
	config := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program}).Config(t)
	const pod = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"example.com/image"}],"restartPolicy":%q}}`
	always, never := fmt.Sprintf(pod, "Always"), fmt.Sprintf(pod, "Never")
	selecting := `{"selector":{"matchLabels":{"a":"b"}},"template":` + always + `}`
	specs := map[string]string{
		"daemonsets":               selecting,
		"deployments":              selecting,
		"replicasets":              selecting,
		"statefulsets":             selecting,
		"horizontalpodautoscalers": `{"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"a","apiVersion":"apps/v1"}}`,
		"jobs":                     `{"template":` + never + `}`,
		"cronjobs":                 `{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":` + never + `}}}`,
		"namespaces":               `{}`,
		"nodes":                    `{}`,
		"persistentvolumes":        `{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/tmp"}}`,
		"persistentvolumeclaims":   `{"resources":{"requests":{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"]}`,
		"pods":                     `{"containers":[{"name":"c","image":"example.com/image"}]}`,
		"replicationcontrollers":   `{"selector":{"a":"b"},"template":` + always + `}`,
		"resourcequotas":           `{"hard":{"pods":"1000"}}`,
		"services":                 `{"ports":[{"port":80}]}`,
		"ingresses":                `{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}}`,
		"poddisruptionbudgets":     `{"minAvailable":1}`,
	}
	client := dynamic.NewForConfigOrDie(config)
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroupsAndResources()
	must(t, err)
	untried := maps.Clone(specs)
	for _, list := range lists {
		for _, r := range list.APIResources {
			name, sub, _ := strings.Cut(r.Name, "/")
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			must(t, err)
			gvr, gvk := gv.WithResource(name), gv.WithKind(r.Kind)
			if sub != "status" || !scheme.Scheme.Recognizes(gvk) {
				continue
			}
			example, err := scheme.Scheme.New(gvk)
			must(t, err)
			status, ok := reflect.TypeOf(example).Elem().FieldByName("Status")
			if !ok || status.Type.NumField() == 0 {
				t.Fatalf("%s has no status", gvk)
			}
			field, _, _ := strings.Cut(status.Type.Field(0).Tag.Get("json"), ",")
			opts := source.Options{Drop: []string{"metadata.annotations", "status." + field}}
			if err := opts.CheckFields(example); err != nil {
				if !strings.Contains(err.Error(), `drop "status", or nothing of it`) {
					t.Errorf("%s: %v", gvk, err)
				}
				continue
			}
			spec, ok := specs[name]
			if !ok {
				t.Errorf("a part of the status of %s may be kept, and nothing here says that servers refuse it", gvk)
				continue
			}
			delete(untried, name)
			u := &unstructured.Unstructured{}
			must(t, json.Unmarshal(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"spec":%s}`, list.GroupVersion, r.Kind, spec), &u.Object))
			u.SetName("lean-" + strings.ReplaceAll(gv.String(), "/", "-"))
			var of dynamic.ResourceInterface = client.Resource(gvr)
			if r.Namespaced {
				of = client.Resource(gvr).Namespace("default")
			}
			if u, err = of.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Errorf("%s: %v", gvk, err)
				continue
			}
			var answer error
			lean := informed(t, config, gvr, source.Options{Drop: []string{"metadata.annotations"}}, func(o *unstructured.Unstructured) bool { return o.GetName() == u.GetName() })
			for range 10 { // controllers write meanwhile
				live, err := of.Get(t.Context(), u.GetName(), metav1.GetOptions{})
				must(t, err)
				lean.SetResourceVersion(live.GetResourceVersion())
				if _, answer = of.UpdateStatus(t.Context(), lean.DeepCopy(), metav1.UpdateOptions{}); !apierrors.IsConflict(answer) {
					break
				}
			}
			if answer == nil || !strings.Contains(answer.Error(), "this object is not whole: patch it, or get it live from the server") {
				t.Errorf("a part of the status of %s may be kept, and the answer to an UpdateStatus of that is: %v", gvk, answer)
			}
		}
	}
	if len(untried) > 0 {
		t.Errorf("not tried: %v", slices.Collect(maps.Keys(untried)))
	}
}
