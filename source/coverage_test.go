package source

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// lamp is a custom resource with a field of each kind that selects.
type lamp struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Spec              lampSpec `json:"spec"`
}

type lampSpec struct {
	On       bool            `json:"on"`
	Dimmed   bool            `json:"dimmed,omitempty"`
	Fixed    *bool           `json:"fixed,omitempty"`
	Watts    int64           `json:"watts"`
	Lumen    *int32          `json:"lumen,omitempty"`
	Colour   string          `json:"colour"`
	Shade    loud            `json:"shade"`
	Interval metav1.Duration `json:"interval"`
	Bought   *metav1.Time    `json:"bought,omitempty"`
	lampPlace
	Rest map[string]string `json:"rest,omitempty"`
}

type lampPlace struct {
	Room struct {
		Floor int `json:"floor,omitempty"`
	} `json:"room"`
}

// loud is a text that its type writes in another way.
type loud string

func (l loud) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(l))), nil }

func (l *lamp) DeepCopyObject() runtime.Object { c := *l; return &c }

// lampFields are the selectableFields of a lamp, and what may stand there.
var lampFields = map[string][]any{
	"spec.on": {true, false}, "spec.dimmed": {true, false}, "spec.fixed": {true, false},
	"spec.watts": {0, 7}, "spec.lumen": {0, 7}, "spec.room.floor": {0, 7},
	"spec.colour": {"", "red"}, "spec.shade": {"", "dark"}, "spec.rest.glass": {"", "red"},
	"spec.interval": {"60s", "0s"}, "spec.bought": {"2026-11-29T12:00:00.000Z"},
	"spec.unknown": {"", "red", true, 7},
}

// lampTexts are what selectors ask for: what may stand there, what a Go type would write, and nothing.
var lampTexts = []string{"", "true", "false", "0", "7", "red", "dark", "DARK", "60s", "1m0s", "0s", "2026-11-29T12:00:00.000Z", "2026-11-29T12:00:00Z"}

// A server of custom resources selects by what it stores: the text of a value, or nothing if
// there is none (customresource/strategy.go, selectableFields). An own write is judged in the
// same way, or not at all.
func TestAnAnswerIsSelectedByWhatTheServerHas(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 20))
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}
	names := make([]string, 0, len(lampFields))
	for path := range lampFields {
		names = append(names, path)
	}
	judged := map[string]int{}
	for range 4000 {
		doc := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"room": map[string]any{}}}}
		doc.SetGroupVersionKind(gvr.GroupVersion().WithKind("lamp"))
		doc.SetNamespace("ns")
		doc.SetName("a")
		doc.SetResourceVersion("7")
		has := fields.Set{}
		for path, values := range lampFields {
			if has[path] = ""; rnd.IntN(2) == 0 {
				v := values[rnd.IntN(len(values))]
				if n, ok := v.(int); ok {
					v = int64(n)
				}
				if err := unstructured.SetNestedField(doc.Object, v, strings.Split(path, ".")...); err != nil {
					t.Fatal(err)
				}
				has[path] = fmt.Sprint(v)
			}
		}
		selector := fields.Everything()
		path := names[rnd.IntN(len(names))]
		for range 1 + rnd.IntN(2) {
			by := fields.OneTermEqualSelector
			if rnd.IntN(2) == 0 {
				by = fields.OneTermNotEqualSelector
			}
			selector = fields.AndSelectors(selector, by(path, lampTexts[rnd.IntN(len(lampTexts))]))
		}
		opts := Options{FieldSelector: selector.String()}
		if rnd.IntN(3) == 0 {
			opts.Drop = []string{"spec"}
		}
		a := Answer{Body: must(doc.MarshalJSON()), Resource: gvr}
		typed := &lamp{}
		if err := json.Unmarshal(a.Body, typed); err != nil {
			t.Fatal(err)
		}
		check := func(how string, w Coverage, err error) {
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if w == Covered && !selector.Matches(has) || w == NotCovered && selector.Matches(has) {
				t.Errorf("%s: %s selects %s: %d", how, selector, a.Body, w)
			}
			if w != CoverageUnknown {
				judged[how]++
			} else if stands, there, _ := unstructured.NestedFieldNoCopy(doc.Object, strings.Split(path, ".")...); there && how != "a Go value" && how != "metadata" {
				t.Errorf("%s: not judged by %v at %s", how, stands, path)
			}
		}
		config := &rest.Config{Host: "example.com"}
		w1, err := ReadAnswer(must(FromConfig[*lamp](config, gvr, opts)), a)
		check("a body", w1.Coverage, err)
		w2, err := ReadAnswer(must(FromConfig[*lamp](config, gvr, opts)), Answer{Object: typed, Resource: gvr})
		check("a Go value", w2.Coverage, err)
		w3, err := ReadAnswer(must(FromConfig[*unstructured.Unstructured](config, gvr, opts)), a)
		check("a body, untyped", w3.Coverage, err)
		w4, err := ReadAnswer(must(FromConfig[*metav1.PartialObjectMetadata](config, gvr, Options{FieldSelector: opts.FieldSelector})), a)
		check("a body, metadata", w4.Coverage, err)
	}
	for _, how := range []string{"a body", "a Go value", "a body, untyped", "a body, metadata"} {
		if judged[how] < 300 {
			t.Errorf("%s: %d are judged", how, judged[how])
		}
	}
	t.Log(judged)
}
