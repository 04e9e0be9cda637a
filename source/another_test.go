package source

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestASampleIsDecodedAsAListIs: its decoder has every field of the list's,
// those that are yet to come included, and shares only the buffers with nobody.
func TestASampleIsDecodedAsAListIs(t *testing.T) {
	d := must(newDecoder[*corev1.Pod](podGVR.GroupVersion(), &Options{MaxObjectBytes: 1234, Drop: []string{DropManagedFields}}))
	d.giveScratch(d.takeScratch())
	was, now := reflect.ValueOf(*d), reflect.ValueOf(*d.another())
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		switch a, b := was.Field(i), now.Field(i); {
		case name == "spare":
			if !b.IsZero() {
				t.Error("two decoders have one scratch")
			}
		case a.IsZero():
			t.Errorf("%s is zero, so this test does not see it", name)
		case !a.Equal(b):
			t.Errorf("%s is %v, and was %v", name, b, a)
		}
	}
}
