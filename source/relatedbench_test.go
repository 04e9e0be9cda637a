package source

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/testpods"
)

// BenchmarkKindsWithEqualParts decodes lists of 1,000 Deployments, 3 ReplicaSets of each
// and 10 Pods of each, which have the Deployment's template. heap-MB is what the objects
// take with the table, or a table for each kind.
func BenchmarkKindsWithEqualParts(b *testing.B) {
	var deployments appsv1.DeploymentList
	var replicaSets appsv1.ReplicaSetList
	var pods corev1.PodList
	for i := range 1000 {
		for k := range 10 {
			pods.Items = append(pods.Items, *testpods.Large(i, i*10+k, 0, false))
		}
		p := pods.Items[len(pods.Items)-1]
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: *p.Spec.DeepCopy()}
		template.Spec.NodeName = ""
		meta := *p.ObjectMeta.DeepCopy()
		meta.Name, meta.OwnerReferences = p.Labels["app.kubernetes.io/name"], nil
		selector := &metav1.LabelSelector{MatchLabels: p.Labels}
		deployments.Items = append(deployments.Items, appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}})
		for k := range 3 {
			meta.Name = fmt.Sprint(deployments.Items[i].Name, k)
			replicaSets.Items = append(replicaSets.Items, appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}})
		}
	}
	c := codecs()[0]
	bodies := [][]byte{c.object(&deployments), c.object(&replicaSets), c.object(&pods)}
	for _, one := range []bool{false, true} {
		b.Run(fmt.Sprintf("one table=%v", one), func(b *testing.B) {
			for b.Loop() {
				sharing := func() *Sharing { return NewSharing(0) }
				if one {
					s := NewSharing(0)
					sharing = func() *Sharing { return s }
				}
				before := liveBytes()
				d := decodeAll[*appsv1.Deployment](b, "apps", bodies[0], sharing())
				r := decodeAll[*appsv1.ReplicaSet](b, "apps", bodies[1], sharing())
				p := decodeAll[*corev1.Pod](b, "", bodies[2], sharing())
				b.ReportMetric(float64(liveBytes()-before)/1e6, "heap-MB")
				runtime.KeepAlive(d)
				runtime.KeepAlive(r)
				runtime.KeepAlive(p)
			}
		})
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func decodeAll[T kruntime.Object](b *testing.B, group string, body []byte, s *Sharing) *keptList[T] {
	dec := must(decoderOf[T](schema.GroupVersion{Group: group, Version: "v1"}, Options{Sharing: s}))
	all := &keptList[T]{sink: newSink[T](), sharing: s}
	err := dec.list(bytes.NewReader(body), all.sink.get, nil, func(p Page[T]) error {
		for _, item := range p.Items {
			all.sink.put(item)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// keptList is a list, and the table that its objects came from.
type keptList[T any] struct {
	sink    *sink[T]
	sharing *Sharing
}
