package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/official"
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
	// What only looks like one is none of its business.
	label := `{"metadata":{"name":"q","annotations":{"commit":"` + huge + `"}},"spec":{}}`
	if _, _, err := dec.Decode(formats.JSON, s, []byte(label), Last[*corev1.ResourceQuota]{}); err != nil {
		t.Errorf("an annotation: %v", err)
	}
}

// weighed has parts that decode themselves, in JSON and protobuf, and parse a Quantity
// that they may not even keep.
type weighed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Limits            limits             `json:"limits"`
	Bytes             cupful             `json:"bytes"`
	Plain             *resource.Quantity `json:"plain,omitempty"`
	Hash              hash               `json:"hash,omitempty"`
	Number            json.Number        `json:"number,omitempty"`
	Raw               json.RawMessage    `json:"raw,omitempty"`
}

func (w *weighed) DeepCopyObject() runtime.Object { return w }

// cupful is the value of a Quantity.
type cupful int64

func (c *cupful) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	return c.Unmarshal([]byte(text))
}

func (c *cupful) Unmarshal(b []byte) error {
	q, err := resource.ParseQuantity(string(b))
	*c = cupful(q.Value())
	return err
}

// hash accepts nothing but hexadecimal digits.
type hash string

func (h *hash) UnmarshalText(b []byte) error {
	decoded, err := hex.DecodeString(string(b))
	*h = hash(decoded)
	return err
}

// Every way to a type's own decoder: of a part, of the whole object, which is used when
// a member is there twice, and of a type that has no plan.
func TestAQuantityIsFoundInWhatDecodesItself(t *testing.T) {
	for _, tc := range []struct {
		raw     string
		refused bool
	}{
		{`{"limits":{"limit":"1e2000000000"}}`, true},
		{`{"limits":{"limit":1e2000000000}}`, true},
		{`{"limits":{"limit":1e-2000000000}}`, true},
		{`{"limits":{"limit":"-0.1E-2000000000 "}}`, true},
		{`{"bytes":"1e2000000000"}`, true},
		{`{"bytes":"1\u00652\u0030000000000"}`, true},
		{`{"bytes":"1","hash":"1234567e1234567e","bytes":"1e2000000000"}`, true},
		{`{"plain":"1","plain":"1e2000000000"}`, true},
		{`{"metadata":{"name":"1e2000000000"},"limits":{"limit":"1e2000000000"}}`, true},

		{`{"limits":{"limit":"1e5","name":"1e2000000000"}}`, false},
		{`{"limits":{"limit":"1e5"},"limits":{"limit":"1e5","name":"1e2000000000"}}`, false},
		{`{"hash":"1234567e12345678"}`, false},
		{`{"hash":"12","hash":"1234567e12345678"}`, false},
		{`{"number":1e2000000000}`, false},
		{`{"number":"1e2000000000"}`, false},
		{`{"number":1,"number":-1e-2000000000}`, false},
		{`{"raw":{"1e2000000000":[1e2000000000,"1e2000000000"]}}`, false},
		{`{"metadata":{"name":"a","name":"1e2000000000"},"bytes":"1"}`, false},
	} {
		check(t, formats.JSON, []byte(tc.raw), tc.refused)
	}
}

// check decodes raw, which must be refused for its exponent, or not at all.
func check(t *testing.T, format formats.Format, raw []byte, refused bool) {
	t.Helper()
	dec, err := Compile[*weighed](reflect.TypeFor[weighed](), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = dec.Decode(format, share.NewSession(share.NewTable(0)), raw, Last[*weighed]{})
	if is := (*scan.ExponentError)(nil); err != nil && !refused || errors.As(err, &is) != refused {
		t.Errorf("format %v, %q: %v", format, raw, err)
	}
}

// A field that is there twice is left to the type's own Unmarshal.
func TestAQuantityIsFoundInAMessageThatIsDecodedAsAWhole(t *testing.T) {
	const tame, huge = "123456789012", "1e2000000000"
	dec, err := Compile[*corev1.ResourceQuota](reflect.TypeFor[corev1.ResourceQuota](), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []bool{false, true} {
		q := corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Annotations: map[string]string{"commit": tame}}}
		if refused {
			q = corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse(tame)}}}
		}
		raw, err := q.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		twice := replaced(t, raw, tame, huge)
		twice += twice
		_, _, err = dec.Decode(formats.Protobuf, share.NewSession(nil), []byte(twice), Last[*corev1.ResourceQuota]{})
		if is := (*scan.ExponentError)(nil); err != nil && !refused || errors.As(err, &is) != refused {
			t.Errorf("refused %v: %v", refused, err)
		}
	}
}

// The message that holds both ends with one of them.
func TestEveryQuantityOfAMessageIsFound(t *testing.T) {
	const tame, huge = "123456789012", "1e2000000000"
	q := corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse(tame), "memory": resource.MustParse(tame)}}}
	raw, err := q.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	twice := []byte(replaced(t, []byte(replaced(t, raw, tame, huge)), tame, huge))
	var refused *scan.ExponentError
	if err := official.Unmarshal(twice, &corev1.ResourceQuota{}); !errors.As(err, &refused) {
		t.Error(err)
	}
}

// Bytes that look like digits may be tags: here of fields 6, each with the value 48.
func TestDigitsBehindAQuantityAreNotItsExponent(t *testing.T) {
	q := resource.MustParse("11e2")
	raw, err := q.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// A field that is there twice is decoded by Unmarshal: that of the whole object.
	raw = append(append(raw, raw...), "00000000000000"...)
	got := resource.Quantity{}
	if err := official.Unmarshal(raw, &got); err != nil || got.Cmp(q) != 0 {
		t.Errorf("%v, %v", &got, err)
	}
}

// An object that is broken elsewhere is refused for that.
func TestAnObjectThatOnlyLooksAsIfItHadAnEndlessQuantityIsRefusedForWhatIsWrong(t *testing.T) {
	dec, err := Compile[*weighed](reflect.TypeFor[weighed](), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := `{"metadata":{"name":"1e2000000000"},"bytes":true}`
	_, n, err := dec.Decode(formats.JSON, share.NewSession(nil), []byte(raw), Last[*weighed]{})
	if wrong := (*json.UnmarshalTypeError)(nil); !errors.As(err, &wrong) || n != len(raw) {
		t.Errorf("%d bytes, %v", n, err)
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
