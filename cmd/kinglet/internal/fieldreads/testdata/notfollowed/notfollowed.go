// Package notfollowed reads what is not looked at.
package notfollowed

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Name reads a field of an object without a type.
func Name(u *unstructured.Unstructured) (string, bool, error) {
	return unstructured.NestedString(u.Object, "spec", "nodeName")
}

// Same compares objects of any kind.
func Same(a, b metav1.Object) bool { return reflect.DeepEqual(a, b) }
