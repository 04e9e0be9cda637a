package status

import (
	"time"

	"github.com/kinglet-go/kinglet/internal/uniquename"
	"github.com/kinglet-go/kinglet/reflector"
)

// StaleSince reports since when reads may be older than what the server has, and
// whether they may: while requests fail or the store may differ, and while a watch is silent for longer than the server's bookmark
// interval. A quiet watch of a server that sends no bookmarks proves nothing, and
// counts as fresh. So does a list that is under way, for a minute. After a stop,
// reads are stale.
func (i *Informer) StaleSince(now time.Time) (since time.Time, stale bool) {
	switch {
	case !i.Synced:
		return time.Time{}, false // there is nothing to be stale
	case i.Phase == reflector.Stopped:
		return i.Since, true
	case i.failing():
		return i.failedSince(), true
	case i.Degraded:
		return i.LastErrorTime, true
	case i.Phase != reflector.Watching:
		return i.Since, now.Sub(i.Since) > longList
	case i.BookmarkInterval > 0 && now.Sub(i.LastContact) > i.BookmarkInterval+lateBookmark:
		return i.LastContact, true
	}
	return time.Time{}, false
}

// Names returns a unique name for each informer: if several are named pods, the
// second is pods#2, the third pods#3. Metrics have the same names.
func Names(informers []Informer) []string {
	var given uniquename.Names
	names := make([]string, len(informers))
	for i := range informers {
		names[i] = given.Of(informers[i].Name)
	}
	return names
}

// ControllerNames is Names for controllers.
func ControllerNames(controllers []Controller) []string {
	var given uniquename.Names
	names := make([]string, len(controllers))
	for i := range controllers {
		names[i] = given.Of(controllers[i].Name)
	}
	return names
}
