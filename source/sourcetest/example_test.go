package sourcetest_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

func ExampleNewStatic() {
	pods := sourcetest.NewStatic(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})

	// What happens is the test's to say.
	pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}})
	pods.Delete(store.Key{Namespace: "shop", Name: "web"})

	enough := errors.New("enough")
	err := pods.Watch(context.Background(), source.WatchRequest[*corev1.Pod]{SendInitialEvents: true},
		func(events []source.Event[*corev1.Pod]) error {
			for _, e := range events {
				fmt.Println(e.Type, e.Key, "at", e.ResourceVersion)
			}
			return enough
		})
	fmt.Println(err)
	// Output:
	// ADDED shop/db at 3
	// BOOKMARK  at 4
	// enough
}
