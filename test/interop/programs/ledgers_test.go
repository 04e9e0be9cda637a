//go:build e2e

package programs

import (
	_ "embed"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/ledgers.yaml
var ledgersYAML []byte

const ledgerName = "ledgers.books.example.com"

var (
	ledgersV1 = schema.GroupVersionResource{Group: "books.example.com", Version: "v1", Resource: "ledgers"}
	ledgersV2 = schema.GroupVersionResource{Group: "books.example.com", Version: "v2", Resource: "ledgers"}
)

func ledgerDefinition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	check(t, yaml.Unmarshal(ledgersYAML, &u.Object))
	return u
}

// addVersion gives the definition a version v2 that is stored, and both
// versions a field more.
func addVersion(definition *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	v1 := versions[0].(map[string]any)
	must(0, unstructured.SetNestedField(v1, "string", "schema", "openAPIV3Schema", "properties", "keeper", "type"))
	v2 := (&unstructured.Unstructured{Object: v1}).DeepCopy().Object
	v1["storage"] = false
	v2["name"] = "v2"
	must(0, unstructured.SetNestedSlice(definition.Object, []any{v1, v2}, "spec", "versions"))
}

// serve says whether v1 is served.
func serve(v1 bool) func(*unstructured.Unstructured) {
	return func(definition *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		versions[0].(map[string]any)["served"] = v1
		must(0, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	}
}

// redefine changes the definition.
func (s *server) redefine(t *testing.T, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	client := s.client.Resource(definitions)
	check(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d, err := client.Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(d)
		_, err = client.Update(s.ctx, d, metav1.UpdateOptions{})
		return err
	}))
}

// undefine deletes the definition, and with it all objects, and returns when
// there is nothing left that would answer for them: the API server goes on for a
// moment after the definition has gone.
func (s *server) undefine(t *testing.T, name string) {
	t.Helper()
	k := kind[unstructuredObject]{s: s, resource: definitions}
	k.delete(t, name)
	k.follow(t, name, "gone", isGone)
	ledgers := s.client.Resource(ledgersV1)
	for {
		w, err := ledgers.Watch(s.ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		check(t, err)
		for range w.ResultChan() {
			// It ends with what answers it.
		}
	}
}

// write creates a ledger, or changes it. What was just defined may not be served
// yet.
func (k kind[T]) write(t *testing.T, name string, pages int64) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"pages": pages}}
	u.SetGroupVersionKind(k.resource.GroupVersion().WithKind("Ledger"))
	u.SetName(name)
	check(t, retry.OnError(retry.DefaultBackoff, apierrors.IsNotFound, func() error {
		_, err := k.client().Apply(k.s.ctx, name, u, metav1.ApplyOptions{FieldManager: "programs", Force: true})
		return err
	}))
}
