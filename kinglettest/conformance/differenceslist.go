package conformance

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func consistentList(t *testing.T, im Implementation) string {
	o := listOnly(pod("ns", "a"))
	reflecting(t, im, withoutWatchList{o})
	testbubble.Elapse(10 * time.Second)
	o.asked()
	o.failLists(gone())
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	lists := besides("watch", o.asked())
	if len(lists) != 2 {
		return fmt.Sprint(lists)
	}
	return fmt.Sprintf("version %q, limit %d", lists[1].options.ResourceVersion, lists[1].options.Limit)
}

func pagedRelist(t *testing.T, im Implementation) string {
	o := listOnly(pod("ns", "a"))
	r := im.NewReflector(withoutWatchList{o}, &corev1.Pod{}, &sink{}, 0)
	r.WatchListPageSize = 7
	running(t, r.RunWithContext)
	testbubble.Elapse(10 * time.Second)
	o.asked()
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	lists := besides("watch", o.asked())
	if len(lists) != 1 {
		return fmt.Sprint(lists)
	}
	options := lists[0].options
	return fmt.Sprintf("version %q, match %q, limit %d", options.ResourceVersion, options.ResourceVersionMatch, options.Limit)
}
