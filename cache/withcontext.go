package cache

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/watchlist"
)

// ToListerWithContext returns l itself if it takes a context, else a Lister
// that ignores the context.
func ToListerWithContext(l Lister) ListerWithContext {
	if with, ok := l.(ListerWithContext); ok {
		return with
	}
	return contextIgnoringLister{l}
}

// ToWatcherWithContext returns w itself if it takes a context, else a Watcher
// that ignores the context.
func ToWatcherWithContext(w Watcher) WatcherWithContext {
	if with, ok := w.(WatcherWithContext); ok {
		return with
	}
	return contextIgnoringWatcher{w}
}

// ToListerWatcherWithContext returns lw itself if it takes a context for both,
// else one that uses the context where lw does.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	if with, ok := lw.(ListerWatcherWithContext); ok {
		return with
	}
	return struct {
		ListerWithContext
		WatcherWithContext
	}{ToListerWithContext(lw), ToWatcherWithContext(lw)}
}

type contextIgnoringLister struct{ Lister }

func (l contextIgnoringLister) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	//lint:ignore SA1019 It is all that this lister has.
	return l.List(options)
}

type contextIgnoringWatcher struct{ Watcher }

func (w contextIgnoringWatcher) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	//lint:ignore SA1019 It is all that this watcher has.
	return w.Watch(options)
}

// ToListWatcherWithWatchListSemantics returns lw together with what client
// reports about itself: a client that never answers a watch-list (KEP-3157),
// such as a fake client, is not asked for one.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return &clientListWatch{ListWatch: lw, noWatchList: watchlist.DoesClientNotSupportWatchListSemantics(client)}
}

// clientListWatch is a ListWatch that knows whether its client supports
// watch-lists.
type clientListWatch struct {
	*ListWatch
	noWatchList bool
}

// IsWatchListSemanticsUnSupported is client-go's name for it.
func (lw *clientListWatch) IsWatchListSemanticsUnSupported() bool { return lw.noWatchList }
