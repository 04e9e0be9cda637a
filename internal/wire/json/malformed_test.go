package json

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// units has a field for each kind of value that is looked up by its bytes.
type units struct {
	Quantity   *resource.Quantity            `json:"quantity"`
	Quantities []resource.Quantity           `json:"quantities"`
	Number     *numeric                      `json:"number"`
	Numbers    []numeric                     `json:"numbers"`
	Named      map[string]numeric            `json:"named"`
	Deep       ***float64                    `json:"deep"`
	Any        *any                          `json:"any"`
	Strings    []string                      `json:"strings"`
	Bytes      []byte                        `json:"bytes"`
	Map        map[string]string             `json:"map"`
	Object     *metav1.ObjectMeta            `json:"object"`
	Objects    []metav1.OwnerReference       `json:"objects"`
	ByName     map[string]metav1.ObjectMeta  `json:"byName"`
	Fields     *metav1.FieldsV1              `json:"fields"`
	Micro      **metav1.MicroTime            `json:"micro"`
	Text       **string                      `json:"text"`
	Flag       **bool                        `json:"flag"`
	Table      map[string]*resource.Quantity `json:"table"`
}

// numeric decodes itself, from anything that Sscan takes for a number.
type numeric struct{ N float64 }

func (n *numeric) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscan(strings.Trim(string(b), `"`), &n.N)
	return err
}

func TestWhatIsMalformedIsRefusedHoweverOftenItComes(t *testing.T) {
	p, err := Compile(reflect.TypeFor[units](), nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 40)
	values := []string{
		"5", "-1.5e3", `"5"`, `"512Mi"`, "true", "null", `"` + long + `"`, `["` + long + `"]`, `{"a":"` + long + `"}`, `[5]`, `[[5]]`,
		`[{"name":"` + long + `"}]`, `{"name":"` + long + `"}`, `{"a":{"name":"` + long + `"}}`, `{"a":5}`, `"YWJj"`, `"2024-02-29T12:00:00.123456Z"`,
		`{"f:a":{"f:` + long + `":{}}}`,
	}
	broken := []string{"", "x", "5", "e", ".", "-", `"`, "\\", "/", "\x00", "\x7f", "\xff", "null", "[", "]", "{", "}", ":", ",", ",,", " 5", " x"}
	accepted := 0
	for _, m := range members(p) {
		for _, v := range values {
			for _, junk := range broken {
				s := share.NewSession(share.NewTable(0))
				if junk == "x" {
					s.Recent = new(share.Recent)
				}
				for _, raw := range []string{
					`{"` + m.Name + `":` + v + junk + `}`,
					`{"` + m.Name + `":` + junk + v + `}`,
					`{"` + m.Name + `":` + v[:len(v)/2] + junk + v[len(v)/2:] + ` ,"unknown":0}`,
				} {
					var last share.Result
					for range 5 {
						r, ok := p.mustAgree(t, s, []byte(raw), last.Version())
						p.mustAgree(t, s, []byte(raw), share.Version{})
						if ok {
							last = r
							accepted++
						}
					}
				}
			}
		}
	}
	t.Logf("%d were accepted, by the official decoder as well", accepted)
}
