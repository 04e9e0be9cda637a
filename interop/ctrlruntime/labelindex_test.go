package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/testseed"
)

// TestGuaranteeALabelIndexChangesNoResult compares random lists of a cache with indexes
// of labels with those of one without, while objects change.
func TestGuaranteeALabelIndexChangesNoResult(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 0))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		random := func(i int) client.Object {
			has := map[string]string{}
			for _, label := range []string{"x", "y", "z"} {
				if rnd.IntN(3) > 0 {
					has[label] = fmt.Sprint(rnd.IntN(4))
				}
			}
			return pod(fmt.Sprint("ns", i%3), fmt.Sprint("p", i), fmt.Sprint("n", rnd.IntN(3)), has)
		}
		for i := range 60 {
			w.create(random(i))
		}
		plain, endPlain := w.run(ctrlruntime.NewCache, cache.Options{})
		defer endPlain()
		indexed, endIndexed := w.run(ctrlruntime.NewCache, cache.Options{})
		defer endIndexed()
		index(t, plain)
		index(t, indexed)
		ctx := context.Background()
		for _, label := range []string{"x", "y", "x"} {
			if err := ctrlruntime.IndexLabel(ctx, indexed, &corev1.Pod{}, label); err != nil {
				t.Fatal(err)
			}
		}
		some := 0
		for n := range 500 {
			var list client.ListOptions
			if rnd.IntN(2) == 0 {
				list.Namespace = fmt.Sprint("ns", rnd.IntN(4))
			}
			list.LabelSelector = randomSelector(t, rnd)
			if rnd.IntN(3) == 0 {
				client.MatchingFields{"node": fmt.Sprint("n", rnd.IntN(4))}.ApplyToList(&list)
			}
			if rnd.IntN(4) == 0 {
				list.Limit = 1 + rnd.Int64N(5)
			}
			var want, got corev1.PodList
			if err := errors.Join(plain.List(ctx, &want, &list), indexed.List(ctx, &got, &list)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Items, want.Items) && len(got.Items)+len(want.Items) > 0 {
				t.Fatalf("%v in %q: %v, without an index %v", list.LabelSelector, list.Namespace, namesOf(got.Items), namesOf(want.Items))
			}
			some += len(got.Items)
			if n%10 == 0 {
				w.update(random(rnd.IntN(60)))
				synctest.Wait()
			}
		}
		if some == 0 {
			t.Error("no list had anything")
		}
		stock, err := cache.New(w.server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		var foreign *ctrlruntime.ForeignCacheError
		if err := ctrlruntime.IndexLabel(ctx, stock, &corev1.Pod{}, "x"); !errors.As(err, &foreign) {
			t.Errorf("another package's cache: %v", err)
		}
	})
}

func randomSelector(t *testing.T, rnd *rand.Rand) labels.Selector {
	t.Helper()
	if rnd.IntN(10) == 0 {
		return nil
	}
	selector := labels.NewSelector()
	for range 1 + rnd.IntN(3) {
		value := func() string { return fmt.Sprint(rnd.IntN(5)) }
		op, values := selection.Equals, []string{value()}
		switch rnd.IntN(10) {
		case 0:
			op, values = selection.In, []string{value(), value()}
		case 1:
			op, values = selection.In, []string{value()}
		case 2:
			op, values = selection.NotIn, []string{value(), value()}
		case 3:
			op, values = selection.Exists, nil
		case 4:
			op, values = selection.DoesNotExist, nil
		case 5:
			op = selection.NotEquals
		case 6:
			op = selection.DoubleEquals
		case 7:
			op = selection.GreaterThan
		}
		r, err := labels.NewRequirement([]string{"x", "y", "z", "none"}[rnd.IntN(4)], op, values)
		if err != nil {
			t.Fatal(err)
		}
		selector = selector.Add(*r)
	}
	return selector
}
