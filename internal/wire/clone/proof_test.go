package clone

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestOnlyTypesWithGeneratedMethodsAreCopiedByFields(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[byHand](), reflect.TypeFor[handMap](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.TableRow](),
	} {
		if !copiesItself(typ) {
			t.Errorf("%v has a method that is written by hand", typ)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[custom](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.ResourceList](),
		reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[string](), reflect.TypeFor[metav1.ObjectMeta](),
	} {
		if copiesItself(typ) {
			t.Errorf("%v has only generated methods", typ)
		}
	}
}

func TestWhatNoPlanIsKnownForIsCopiedByTheClosestMethod(t *testing.T) {
	for _, tc := range []struct {
		typ reflect.Type
		own bool
	}{
		{reflect.TypeFor[corev1.Pod](), false},
		{reflect.TypeFor[appsv1.Deployment](), false},
		{reflect.TypeFor[appsv1.ControllerRevision](), false}, // its RawExtension alone
		{reflect.TypeFor[custom](), false},
		{reflect.TypeFor[withInterface](), true},
		{reflect.TypeFor[byHand](), true},
		{reflect.TypeFor[metav1.TableRow](), true},
	} {
		if p := Of(reflect.PointerTo(tc.typ)); p == nil || (p.own != nil) != tc.own {
			t.Errorf("%v: %+v", tc.typ, p)
		}
	}
	if p := Of(reflect.TypeFor[*struct{ Many [1 << 40]numbered }]()); p != nil {
		t.Errorf("an array of any number of elements that copy themselves: %+v", p)
	}
	if p := Of(reflect.TypeFor[*bare]()); p != nil {
		t.Errorf("a type without methods: %+v", p)
	}
}

// TestKindsOfTheSchemeAreCopiedByFields: a change of the file names, or of what
// generated code has, would turn every plan into DeepCopyInto, and nobody would notice.
func TestKindsOfTheSchemeAreCopiedByFields(t *testing.T) {
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		if p := Of(reflect.PointerTo(typ)); p == nil || p.own != nil && typ != reflect.TypeFor[metav1.InternalEvent]() {
			t.Errorf("%v is not copied by fields", typ)
		}
	}
}
