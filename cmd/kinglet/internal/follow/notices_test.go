package follow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

func wantLines(t *testing.T, n *notices, now time.Time, want ...string) {
	t.Helper()
	if got := n.take(now); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestAnErrorIsShownOnceUntilItChanges(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	for range 100 {
		n.failed("pods", trouble.Forbidden, "forbidden: list", now)
	}
	wantLines(t, n, now, "error: pods: forbidden: list")
	n.failed("pods", trouble.Forbidden, "forbidden: list", now)
	wantLines(t, n, now)
	n.failed("pods", trouble.Forbidden, "forbidden: watch", now)
	wantLines(t, n, now, "error: pods: forbidden: watch")
}

func TestWordsThatChangeFromTryToTryAreNotAnotherError(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.failed("pods", trouble.Unreachable, "no connection: reset", now)
	n.failed("pods", trouble.Unreachable, "no connection: refused", now)
	wantLines(t, n, now.Add(passing), "error: pods: no connection: reset")
	n.failed("pods", trouble.Unreachable, "no connection: reset", now.Add(2*passing))
	wantLines(t, n, now.Add(time.Hour))
}

func TestThatItIsOverIsShownOnceWithHowLongItTook(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.recovered("pods", now)
	wantLines(t, n, now)
	n.failed("pods", trouble.Unreachable, "no connection", now)
	n.failed("pods", trouble.Throttled, "busy", now.Add(time.Second))
	now = now.Add(4 * time.Second)
	wantLines(t, n, now, "error: pods: no connection", "error: pods: busy")
	n.recovered("pods", now)
	n.recovered("pods", now.Add(time.Second))
	wantLines(t, n, now, "pods: works again after 4.0s")
	n.failed("pods", trouble.Unreachable, "no connection", now)
	wantLines(t, n, now.Add(passing), "error: pods: no connection")
}

func TestAnErrorThatPassesByItselfAtOnceIsNotShown(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.failed("pods", trouble.Unreachable, "reset", now)
	n.failed("nodes", trouble.Unreachable, "reset", now)
	wantLines(t, n, now)
	n.recovered("pods", now.Add(passing/2))
	wantLines(t, n, now.Add(passing), "error: nodes: reset")
	wantLines(t, n, now.Add(time.Hour))
}

func TestTheSameErrorOfSeveralResourcesIsOneLine(t *testing.T) {
	n, now := newNotices(), time.Unix(1000, 0)
	n.failed("pods", trouble.Unreachable, "no connection", now)
	n.failed("secrets", trouble.Forbidden, "forbidden", now)
	n.failed("nodes", trouble.Unreachable, "no connection", now)
	wantLines(t, n, now.Add(passing), "error: pods, nodes: no connection", "error: secrets: forbidden")
}

func TestManyBadObjectsDoNotFloodTheScreen(t *testing.T) {
	n := newNotices()
	for i := range 1000 {
		n.object("pods", fmt.Sprint("decode of ", i))
	}
	if got := n.take(time.Unix(1, 0)); len(got) != maxObjectNotices {
		t.Fatalf("%d lines", len(got))
	}
}
