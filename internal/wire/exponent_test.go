package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
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
		_, n, err := dec.Decode(formats.JSON, s, []byte(raw), Last[*corev1.ResourceQuota]{})
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
	if _, _, err := dec.Decode(formats.Protobuf, s, []byte(replaced(t, raw, "123456789012", huge)), Last[*corev1.ResourceQuota]{}); !errors.As(err, &refused) {
		t.Errorf("protobuf: %v", err)
	}
	inCBOR := func(annotations, hard map[string]any) error {
		raw, err := direct.Marshal(map[string]any{"metadata": map[string]any{"name": "q", "annotations": annotations}, "spec": map[string]any{"hard": hard}})
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := dec.Decode(formats.CBOR, s, raw, Last[*corev1.ResourceQuota]{})
		if err == nil && (o.Value.Name != "q" || len(o.Value.Annotations) != len(annotations)) {
			t.Errorf("CBOR: %+v", o.Value)
		}
		return err
	}
	if err := inCBOR(nil, map[string]any{"cpu": huge}); !errors.As(err, &refused) {
		t.Errorf("CBOR: %v", err)
	}
	// What only looks like one is none of its business.
	if err := inCBOR(map[string]any{"commit": huge}, map[string]any{"cpu": "5"}); err != nil {
		t.Errorf("an annotation in CBOR: %v", err)
	}
	label := `{"metadata":{"name":"q","annotations":{"commit":"` + huge + `"}},"spec":{}}`
	if _, _, err := dec.Decode(formats.JSON, s, []byte(label), Last[*corev1.ResourceQuota]{}); err != nil {
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
