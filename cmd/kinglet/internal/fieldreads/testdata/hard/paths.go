// Package hard reads fields in ways in which they are easily overlooked. Each function reads
// another kind, as what is found of one counts for all that have the same type.
package hard

import (
	"encoding/json"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// JSON of types that make it themselves has no fields.
func JSON(e *corev1.Event, s *corev1.Service) (time.Duration, int32) {
	return time.Since(e.CreationTimestamp.Time), s.Spec.Ports[0].TargetPort.IntVal
}

func unnamed(o *Unnamed) string { return o.Spec.A }

type pair struct{ A, B string }

func generic(g *Generic[pair]) string { return g.Spec.A }

func recursive(t *Tree) string { return t.Spec.Value + t.Spec.Children[0].Value }

// An embedded part that is passed on has no name in JSON.
func embedded(v *corev1.PersistentVolume, q corev1.PersistentVolumeSource) bool {
	return reflect.DeepEqual(v.Spec.PersistentVolumeSource, q) || v.Spec.StorageClassName == ""
}

func flat(f *Flat) ([]byte, error) { return json.Marshal(f.Common) }

// A part is passed on, and somewhere else a field of such a part is read.
func parts(n *corev1.Node, a *corev1.NodeAddress) ([]byte, error) {
	json.Marshal(a)
	return json.Marshal(n.Spec.Taints[0].Key + n.Status.Addresses[0].Address)
}

// DeepCopy is no method, and so no copy.
func DeepCopy(e *corev1.Endpoints) string { return e.Subsets[0].Ports[0].Name }

func promoted(p *Promoted) string { return p.Text() + p.A }
