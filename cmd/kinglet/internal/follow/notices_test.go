package follow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

func wantLines(t *testing.T, n *notices, want ...string) {
	t.Helper()
	if got := n.take(); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestAnErrorIsShownOnceUntilItChanges(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	for range 100 {
		n.failed("pods", trouble.Forbidden, "forbidden: list", now)
	}
	wantLines(t, n, "error: pods: forbidden: list")
	n.failed("pods", trouble.Forbidden, "forbidden: list", now)
	wantLines(t, n)
	n.failed("pods", trouble.Forbidden, "forbidden: watch", now)
	wantLines(t, n, "error: pods: forbidden: watch")
}

func TestWordsThatChangeFromTryToTryAreNotAnotherError(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.failed("pods", trouble.Unreachable, "no connection: reset", now)
	n.failed("pods", trouble.Unreachable, "no connection: refused", now)
	wantLines(t, n, "error: pods: no connection: reset")
}

func TestThatItIsOverIsShownOnceWithHowLongItTook(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.recovered("pods", now)
	wantLines(t, n)
	n.failed("pods", trouble.Unreachable, "no connection", now)
	n.failed("pods", trouble.Busy, "busy", now.Add(time.Second))
	wantLines(t, n, "error: pods: no connection", "error: pods: busy")
	n.recovered("pods", now.Add(4*time.Second))
	n.recovered("pods", now.Add(5*time.Second))
	wantLines(t, n, "pods: works again after 4.0s")
	n.failed("pods", trouble.Unreachable, "no connection", now.Add(6*time.Second))
	wantLines(t, n, "error: pods: no connection")
}

func TestTheSameErrorOfSeveralResourcesIsOneLine(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.failed("pods", trouble.Unreachable, "no connection", now)
	n.failed("secrets", trouble.Forbidden, "forbidden", now)
	n.failed("nodes", trouble.Unreachable, "no connection", now)
	wantLines(t, n, "error: pods, nodes: no connection", "error: secrets: forbidden")
}

func TestManyBadObjectsDoNotFloodTheScreen(t *testing.T) {
	n := newNotices()
	for i := range 1000 {
		n.object("pods", fmt.Sprint("decode of ", i))
	}
	if got := n.take(); len(got) != maxObjectNotices {
		t.Fatalf("%d lines", len(got))
	}
}
