package source

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// fakePatience is how long a fake may take to send the end of its initial events, in
// case the test that drives it does.
const fakePatience = 100 * time.Millisecond

// isFake reports whether w is a watch of client-go's fake clientsets, or one that a test
// drives. By itself it never sends the end of initial events: a reflector would wait for
// it, and client-go's waits for ever.
func isFake(w watch.Interface) bool {
	switch w.(type) {
	case *watch.FakeWatcher, *watch.RaceFreeFakeWatcher:
		return true
	}
	return false
}

// beginFake yields the initial events of a fake. If their end does not come, nor any bookmark,
// which a fake clientset never sends, it lists, and yields the list as the initial events. It does not open another watch: the fake may
// have one only, and sends on no other what was deleted in between. It returns false if w
// was closed.
func (s *lwSource[T]) beginFake(ctx context.Context, w watch.Interface, req *WatchRequest[T], yield func([]Event[T]) error) (open bool, err error) {
	timer := time.NewTimer(fakePatience)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, ctx.Err()
			}
			event := eventOf[T](e, &s.want)
			if event.Type == Bookmark {
				timer.Stop()
			}
			if err := yield([]Event[T]{event}); err != nil || event.InitialEventsEnd {
				return true, err
			}
		case <-timer.C:
			list := ListRequest[T]{ResourceVersion: req.ResourceVersion, NotOlderThan: req.ResourceVersion != "", Held: req.Held, OnPath: req.OnPath}
			return true, s.List(ctx, list, func(page Page[T]) error { return yield(initialEvents(page)) })
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// initialEvents returns a whole list as initial events and their end.
func initialEvents[T any](page Page[T]) []Event[T] {
	events := make([]Event[T], 0, len(page.Items)+1)
	for _, item := range page.Items {
		events = append(events, Event[T]{Type: Added, Item: item})
	}
	end := Event[T]{Type: Bookmark, InitialEventsEnd: true}
	end.ResourceVersion = page.ResourceVersion
	return append(events, end)
}
