package source

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// permutations are all orders of the members.
func permutations(members []string) [][]string {
	if len(members) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i := range members {
		rest := append(append([]string(nil), members[:i]...), members[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{members[i]}, p...))
		}
	}
	return all
}

// orderedLists are one list with its members in all orders, with and without
// metadata; its items say their kind, or do not, or one of them does.
func orderedLists() []string {
	const said = `"apiVersion":"v1","kind":"Pod",`
	item := func(kind, name string) string {
		return fmt.Sprintf(`{%s"metadata":{"name":%q,"annotations":{"a":"a value that is long enough to be shared"}}}`, kind, name)
	}
	var all []string
	for _, kinds := range [][2]string{{"", ""}, {said, said}, {"", said}, {said, ""}} {
		items := fmt.Sprintf(`"items":[%s,%s]`, item(kinds[0], "a"), item(kinds[1], "b"))
		for _, members := range [][]string{
			{`"apiVersion":"v1"`, `"kind":"PodList"`, `"metadata":{"resourceVersion":"9"}`, items},
			{`"apiVersion":"v1"`, `"kind":"PodList"`, items},
		} {
			for _, p := range permutations(members) {
				all = append(all, "{"+strings.Join(p, ",")+"}")
			}
		}
	}
	return all
}

// TestTheMembersOfAListMeanTheSameInEveryOrder: JSON has none. The lists are
// read one after the other, so that what is held came from another order.
func TestTheMembersOfAListMeanTheSameInEveryOrder(t *testing.T) {
	t.Run("unstructured, as the dynamic client", func(t *testing.T) {
		listsInEveryOrder(t, func(body []byte) (items []*unstructured.Unstructured) {
			obj, _, err := unstructured.UnstructuredJSONScheme.Decode(body, nil, &unstructured.UnstructuredList{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range obj.(*unstructured.UnstructuredList).Items {
				items = append(items, &obj.(*unstructured.UnstructuredList).Items[i])
			}
			return items
		})
	})
	t.Run("typed, as the typed client", func(t *testing.T) {
		listsInEveryOrder(t, func(body []byte) (items []*corev1.Pod) {
			var l corev1.PodList
			if err := json.Unmarshal(body, &l); err != nil {
				t.Fatal(err)
			}
			for i := range l.Items {
				items = append(items, &l.Items[i])
			}
			return items
		})
	})
	t.Run("metadata", func(t *testing.T) {
		listsInEveryOrder(t, func(body []byte) (items []*metav1.PartialObjectMetadata) {
			var l metav1.PartialObjectMetadataList
			if err := json.Unmarshal(body, &l); err != nil {
				t.Fatal(err)
			}
			for i := range l.Items {
				if l.Items[i].Kind == "" {
					l.Items[i].SetGroupVersionKind(partialKind)
				}
				items = append(items, &l.Items[i])
			}
			return items
		})
	})
}

func listsInEveryOrder[T any](t *testing.T, officially func(body []byte) []T) {
	for _, opts := range []Options{{}, {DisableSharing: true}} {
		dec := must(decoderOf[T](podGVR.GroupVersion(), opts))
		s := newSink[T]()
		for _, body := range orderedLists() {
			want := officially([]byte(body))
			for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(bytes.NewReader([]byte(body)))} {
				var got listed[T]
				if err := dec.list(r, s.get, nil, got.page); err != nil || len(got.items) != len(want) {
					t.Fatalf("%s: %d items: %v", body, len(got.items), err)
				}
				for i, it := range got.items {
					held, _, _ := s.get(it.Key)
					same := reflect.DeepEqual(it.Object, want[i])
					// A typed object that is held keeps its kind, or has none.
					if _, typed := any(it.Object).(*corev1.Pod); it.Err != nil || !same && !(typed && any(held) == any(it.Object)) {
						t.Errorf("%s: item %d is %+v, want %+v: %v", body, i, it.Object, want[i], it.Err)
					}
					s.put(it)
				}
			}
		}
	}
}
