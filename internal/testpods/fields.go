package testpods

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FieldsV1 returns that of a JSON text, as metav1.NewFieldsV1 has done since
// Kubernetes 0.36.
func FieldsV1(text string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	if err := f.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return f
}
