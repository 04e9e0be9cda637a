package testread

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// ErrEnough ends a list or watch once enough was seen.
var ErrEnough = errors.New("enough")

// Listed is everything that one List call yielded.
type Listed[T any] struct {
	Pages   []source.Page[T]
	Items   []source.Item[T]
	Version string
}

// List calls List once, and fails the test where a page or item breaks the
// contract.
func List[T any](t testing.TB, src source.Source[T], req source.ListRequest[T]) (Listed[T], error) {
	t.Helper()
	var got Listed[T]
	err := src.List(t.Context(), req, func(p source.Page[T]) error {
		got.Pages = append(got.Pages, p)
		got.Items = append(got.Items, p.Items...)
		got.Version = p.ResourceVersion
		return nil
	})
	for i, p := range got.Pages {
		last := i == len(got.Pages)-1
		if err == nil && p.More == last {
			t.Errorf("page %d of %d has More %v", i, len(got.Pages), p.More)
		}
		if p.More && p.Continue != "" {
			t.Errorf("page %d has more and a continue token", i)
		}
	}
	for _, it := range got.Items {
		checkItem(t, it)
	}
	return got, err
}

// Watch calls Watch once, and fails the test where a batch or item breaks the
// contract.
func Watch[T any](t testing.TB, src source.Source[T], req source.WatchRequest[T]) ([]source.Event[T], error) {
	t.Helper()
	var got []source.Event[T]
	err := src.Watch(t.Context(), req, func(events []source.Event[T]) error {
		if len(events) == 0 {
			t.Error("an empty batch")
		}
		got = slices.Concat(got, events) // the batch is the source's
		return nil
	})
	for _, e := range got {
		if e.Type.HasObject() {
			checkItem(t, e.Item)
		}
	}
	return got, err
}

// WatchSome watches until n events have come, and ends the watch with ErrEnough.
func WatchSome[T any](ctx context.Context, src source.Source[T], req source.WatchRequest[T], n int) ([]source.Event[T], error) {
	var got []source.Event[T]
	err := src.Watch(ctx, req, func(events []source.Event[T]) error {
		if got = slices.Concat(got, events); len(got) >= n {
			return ErrEnough
		}
		return nil
	})
	return got, err
}

func checkItem[T any](t testing.TB, it source.Item[T]) {
	t.Helper()
	ie, broken := it.Err.(*source.ItemError)
	if it.Err != nil && !broken {
		t.Errorf("an item's error is a %T: %v", it.Err, it.Err)
	}
	if v := reflect.ValueOf(it.Object); broken == (v.IsValid() && !v.IsNil()) {
		t.Errorf("an item has both an object and an error, or neither: %+v", it)
	}
	if broken && (ie.Key != it.Key && it.Key != (store.Key{}) || ie.ResourceVersion != it.ResourceVersion) {
		t.Errorf("the error is about %+v and the item about %+v", ie, it)
	}
}
