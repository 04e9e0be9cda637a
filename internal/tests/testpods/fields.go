package testpods

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FieldsV1 returns the FieldsV1 of a JSON text, like metav1.NewFieldsV1, which exists
// since Kubernetes 0.36.
func FieldsV1(text string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	if err := f.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return f
}

// fieldsText returns what FieldsV1 was made of.
func fieldsText(f *metav1.FieldsV1) string {
	text, err := f.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(text)
}
