package testpods

import (
	"math/rand/v2"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// unlike rewrites every string of a pod, keys of maps and managed fields included, and every
// number, so that no other pod has the same and the size is about the same. Kind, namespace,
// name, versions, times and node, by which the object is found and indexed, stay, as do
// booleans. The result would pass no validation, but none takes place.
//
// A pod is rewritten in the same way in every round, so it has as much in common with its
// previous version as any other pod.
func unlike(p *corev1.Pod, rnd *rand.Rand) {
	meta, node := p.ObjectMeta, p.Spec.NodeName
	u := &rewriter{rnd: rnd}
	u.value(reflect.ValueOf(&p.Spec).Elem())
	u.value(reflect.ValueOf(&p.ObjectMeta.Labels).Elem())
	u.value(reflect.ValueOf(&p.ObjectMeta.Annotations).Elem())
	u.value(reflect.ValueOf(&p.ObjectMeta.OwnerReferences).Elem())
	u.value(reflect.ValueOf(&p.ObjectMeta.ManagedFields).Elem())
	restarts := p.Status.ContainerStatuses[0].RestartCount
	id := p.Status.ContainerStatuses[0].ContainerID
	// A count of 0 stays, and no draw for it: it must be so in every round.
	p.Status.ContainerStatuses[0].RestartCount = 0
	u.value(reflect.ValueOf(&p.Status).Elem())
	p.Status.ContainerStatuses[0].RestartCount = restarts
	p.Status.ContainerStatuses[0].ContainerID = id
	p.GenerateName = u.string(meta.GenerateName)
	p.Spec.NodeName = node
}

type rewriter struct{ rnd *rand.Rand }

var (
	timeType     = reflect.TypeFor[metav1.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
	portType     = reflect.TypeFor[intstr.IntOrString]()
	fieldsType   = reflect.TypeFor[metav1.FieldsV1]()
)

func (u *rewriter) value(v reflect.Value) {
	switch v.Type() {
	case timeType:
		return
	case quantityType:
		v.Set(reflect.ValueOf(*resource.NewMilliQuantity(1+u.rnd.Int64N(1<<30), resource.DecimalSI)))
		return
	case portType:
		v.Set(reflect.ValueOf(intstr.FromInt32(1 + u.rnd.Int32N(1<<16))))
		return
	case fieldsType:
		f := v.Addr().Interface().(*metav1.FieldsV1)
		*f = *FieldsV1(u.fields(len(fieldsText(f))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(u.string(v.String()))
	case reflect.Int32, reflect.Int64:
		if v.Int() != 0 {
			v.SetInt(1 + u.rnd.Int64N(1<<24))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			u.value(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			u.value(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			u.value(v.Index(i))
		}
	case reflect.Map:
		u.rewriteMap(v)
	}
}

// rewriteMap goes by the number of entries, not by their order, which is
// another each time.
func (u *rewriter) rewriteMap(v reflect.Value) {
	n := v.Len()
	if n == 0 {
		return
	}
	made := reflect.MakeMapWithSize(v.Type(), n)
	for range n {
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.SetString(word(u.rnd, 16))
		if elem.Kind() == reflect.String {
			elem.SetString(word(u.rnd, 24))
		}
		u.value(elem)
		made.SetMapIndex(key, elem)
	}
	v.Set(made)
}

// string returns one of the same length; but one of a few letters would soon
// be like another.
func (u *rewriter) string(s string) string {
	if s == "" {
		return ""
	}
	return word(u.rnd, max(len(s), 6))
}

// fields returns a set of fields that takes about n bytes.
func (u *rewriter) fields(n int) string {
	b := []byte{'{'}
	for len(b) < n-40 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, `"f:`+word(u.rnd, 24)+`":{}`...)
	}
	return string(append(b, '}'))
}
