package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// The official decoder would compute 10^2,000,000,000.
func TestAQuantityThatCannotBeComputedIsAnErrorAndNotAHang(t *testing.T) {
	const huge = "1e2000000000"
	dec, err := Compile[*corev1.ResourceQuota](reflect.TypeFor[corev1.ResourceQuota](), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := share.NewSession(share.NewTable(0))
	for _, text := range []string{`"` + huge + `"`, huge} {
		raw := fmt.Sprintf(`{"metadata":{"name":"q"},"spec":{"hard":{"cpu":%s}}} `, text)
		_, n, err := dec.JSON(s, []byte(raw), Last[*corev1.ResourceQuota]{})
		var refused *scan.ExponentError
		if !errors.As(err, &refused) || n != len(raw)-1 {
			t.Errorf("JSON %s: %d bytes, %v", text, n, err)
		}
	}
	// The encoder computes it as well, so the text is put in afterwards.
	ok := corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse("123456789012")}}}
	raw, err := ok.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var refused *scan.ExponentError
	if _, err := dec.Protobuf(s, []byte(replaced(t, raw, "123456789012", huge)), Last[*corev1.ResourceQuota]{}); !errors.As(err, &refused) {
		t.Errorf("protobuf: %v", err)
	}
	// What only looks like one is none of its business.
	label := `{"metadata":{"name":"q","annotations":{"commit":"` + huge + `"}},"spec":{}}`
	if _, _, err := dec.JSON(s, []byte(label), Last[*corev1.ResourceQuota]{}); err != nil {
		t.Errorf("an annotation: %v", err)
	}
}

// replaced puts a text of the same length in another's place.
func replaced(t *testing.T, raw []byte, old, now string) string {
	t.Helper()
	s := strings.Replace(string(raw), old, now, 1)
	if s == string(raw) || len(old) != len(now) {
		t.Fatalf("%q cannot take the place of %q", now, old)
	}
	return s
}
