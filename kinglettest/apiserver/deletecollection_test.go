package apiserver_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// left are the names of what there is.
func (w *world) left() string {
	var names []string
	for _, cm := range w.list(metav1.ListOptions{}).Items {
		names = append(names, cm.Name)
	}
	return strings.Join(names, " ")
}

func TestTheDeletionOfACollectionPassesItsPreconditionsToEachDelete(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		a := w.create("a", nil)
		w.create("b", nil)
		w.create("c", nil)
		maps := w.client.CoreV1().ConfigMaps("default")
		other := types.UID("other")
		err := maps.DeleteCollection(w.Context(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}, metav1.ListOptions{})
		if got := w.left(); !apierrors.IsConflict(err) || got != "a b c" {
			w.Errorf("with another UID: %v, and %s are left", err, got)
		}
		// In order, up to the first error.
		err = maps.DeleteCollection(w.Context(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID}}, metav1.ListOptions{})
		if got := w.left(); !apierrors.IsConflict(err) || got != "b c" {
			w.Errorf("with the UID of the first: %v, and %s are left", err, got)
		}
	})
}

func TestTheDeletionOfACollectionWithALimitIsOfOnePage(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		for _, name := range []string{"a", "b", "c", "d"} {
			w.create(name, nil)
		}
		first := w.list(metav1.ListOptions{Limit: 1})
		maps := w.client.CoreV1().ConfigMaps("default")
		remove := func(o metav1.ListOptions, want string) {
			if err := maps.DeleteCollection(w.Context(), metav1.DeleteOptions{}, o); err != nil {
				w.Error(err)
			}
			if got := w.left(); got != want {
				w.Errorf("after %+v, %s are left, want %s", o, got, want)
			}
		}
		remove(metav1.ListOptions{Limit: 1, Continue: first.Continue}, "a c d")
		remove(metav1.ListOptions{Limit: 2}, "d")
		remove(metav1.ListOptions{}, "")
		if err := maps.DeleteCollection(w.Context(), metav1.DeleteOptions{}, metav1.ListOptions{ResourceVersion: "99999999"}); !apierrors.IsTimeout(err) {
			w.Errorf("at a version that is not there yet: %v", err)
		}
	})
}
