package cache

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestListersListByNamespaceAndLabelsWithAndWithoutAnIndex(t *testing.T) {
	for _, indexers := range []Indexers{nil, {NamespaceIndex: MetaNamespaceIndexFunc}} {
		s := NewIndexer(MetaNamespaceKeyFunc, indexers)
		for i := range 60 {
			c := configMap(fmt.Sprint("ns-", i%3), fmt.Sprint(i), i)
			c.Labels = map[string]string{"app": fmt.Sprint(i % 4)}
			add(t, s, c)
		}
		app := labels.SelectorFromSet(labels.Set{"app": "2"})
		for _, of := range []struct {
			namespace string
			selector  labels.Selector
			want      int
		}{
			{"", labels.Everything(), 60}, {"", labels.Nothing(), 0}, {"", app, 15},
			{"ns-1", labels.Everything(), 20}, {"ns-1", app, 5}, {"absent", labels.Everything(), 0},
		} {
			n := 0
			err := ListAllByNamespace(s, of.namespace, of.selector, func(any) { n++ })
			objs, listErr := NewGenericLister(s, schema.GroupResource{}).ByNamespace(of.namespace).List(of.selector)
			if n != of.want || len(objs) != of.want || err != nil || listErr != nil {
				t.Errorf("of %q with %v: %d and %d, want %d; %v, %v", of.namespace, of.selector, n, len(objs), of.want, err, listErr)
			}
		}
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
