package cache

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"
)

func listed(objs []any) []string {
	var names []string
	for _, obj := range objs {
		key, err := MetaNamespaceKeyFunc(obj)
		if err != nil {
			key = fmt.Sprint(obj)
		}
		names = append(names, key)
	}
	slices.Sort(names)
	return names
}

func TestListersListWhatClientGosDo(t *testing.T) {
	indexed := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	plain := NewIndexer(MetaNamespaceKeyFunc, nil)
	for i := range 60 {
		c := configMap(fmt.Sprint("ns-", i%3), fmt.Sprint(i), i)
		c.Labels = map[string]string{"app": fmt.Sprint(i % 4)}
		add(t, indexed, c)
		add(t, plain, c)
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, s := range []Indexer{indexed, plain} {
		for _, selector := range []labels.Selector{
			labels.Everything(), labels.Nothing(), labels.SelectorFromSet(labels.Set{"app": "2"}), labels.NewSelector(),
		} {
			for _, namespace := range []string{"", "ns-1", "absent"} {
				var ours, theirs []any
				err := ListAllByNamespace(s, namespace, selector, func(obj any) { ours = append(ours, obj) })
				kcErr := kc.ListAllByNamespace(s, namespace, selector, func(obj any) { theirs = append(theirs, obj) })
				if err != nil || kcErr != nil || !slices.Equal(listed(ours), listed(theirs)) {
					t.Errorf("of %q with %v are %v, %v; client-go: %v, %v", namespace, selector, listed(ours), err, listed(theirs), kcErr)
				}
				objs, err := NewGenericLister(s, resource).ByNamespace(namespace).List(selector)
				if err != nil || len(objs) != len(theirs) {
					t.Errorf("the lister of %q with %v has %d, want %d: %v", namespace, selector, len(objs), len(theirs), err)
				}
			}
			var all []any
			if err := ListAll(s, selector, func(obj any) { all = append(all, obj) }); err != nil {
				t.Fatal(err)
			}
			if objs, err := NewGenericLister(s, resource).List(selector); err != nil || len(objs) != len(all) {
				t.Errorf("the lister with %v has %d, want %d: %v", selector, len(objs), len(all), err)
			}
		}
	}
}

func TestALabelSelectorFailsForWhatHasNoLabels(t *testing.T) {
	s := NewIndexer(func(obj any) (string, error) { return fmt.Sprint(obj), nil }, nil)
	add(t, s, "no object")
	none := func(any) { t.Error("something is listed") }
	if err := ListAll(s, labels.SelectorFromSet(labels.Set{"a": "b"}), none); err == nil {
		t.Error("ListAll does not fail")
	}
	if err := ListAllByNamespace(s, "a", labels.Everything(), none); err == nil {
		t.Error("ListAllByNamespace does not fail")
	}
	n := 0
	if err := ListAll(s, labels.Everything(), func(any) { n++ }); err != nil || n != 1 {
		t.Errorf("of everything there are %d: %v", n, err)
	}
}

func TestAListerSaysWhatItDoesNotFind(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, nil)
	add(t, s, configMap("a", "1", 1), configMap("", "1", 2))
	l := NewGenericLister(s, schema.GroupResource{Group: "g", Resource: "things"})
	for _, c := range []struct {
		get  func() (any, error)
		want string
	}{
		{func() (any, error) { return l.ByNamespace("a").Get("1") }, "1"},
		{func() (any, error) { return l.Get("1") }, "2"},
		{func() (any, error) { return l.Get("2") }, ""},
		{func() (any, error) { return l.ByNamespace("b").Get("1") }, ""},
	} {
		got, err := c.get()
		switch {
		case c.want == "":
			if !apierrors.IsNotFound(err) {
				t.Errorf("%v, %v", got, err)
			}
		case err != nil || got.(*corev1.ConfigMap).ResourceVersion != c.want:
			t.Errorf("%v, %v, want version %s", got, err, c.want)
		}
	}
}
