package ctrlruntime

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Difference is one difference between the caches of a Comparison. It contains no data
// of objects.
type Difference struct {
	What What
	Kind schema.GroupVersionKind
	// Key is empty if the difference is of the whole kind, or of the whole cache.
	Key client.ObjectKey
	// Read describes what found it: a Get, which also stands for the comparison of
	// everything held, a List with its selectors, what handlers received, or another
	// call.
	Read string
	// Path is the JSON path of the first field that differs, if What is Changed; only
	// its first part for a Secret.
	Path string
	// PrimaryVersion and ShadowVersion are the resource versions of the object; empty
	// in a cache that does not have it.
	PrimaryVersion, ShadowVersion string
	// For is how long the difference has been seen.
	For time.Duration
	// Err is the error of the shadow, if What is ShadowFailed.
	Err error
}

// String returns the difference in one line.
func (d Difference) String() string {
	var b strings.Builder
	b.WriteString(d.Kind.String())
	if d.Key != (client.ObjectKey{}) {
		fmt.Fprintf(&b, " %s", strings.TrimPrefix(d.Key.String(), "/"))
	}
	fmt.Fprintf(&b, ": %s", d.What)
	if d.Path != "" {
		fmt.Fprintf(&b, ", at %s", d.Path)
	}
	if d.Read != "" {
		fmt.Fprintf(&b, ", by %s", d.Read)
	}
	if d.PrimaryVersion != "" || d.ShadowVersion != "" {
		fmt.Fprintf(&b, "; the primary has version %q, the shadow %q", d.PrimaryVersion, d.ShadowVersion)
	}
	if d.Err != nil {
		fmt.Fprintf(&b, ": %v", d.Err)
	}
	return b.String()
}

// Reports are a bucket of mostReports, with one more every reportEvery. The last
// mostRemembered differences are not reported again.
const (
	mostReports    = 20
	reportEvery    = 10 * time.Second
	mostRemembered = 1024
)

// reports reports each difference once, and not too many.
type reports struct {
	call func(Difference)

	mu sync.Mutex
	// What follows is guarded by mu.

	reported map[string]struct{}
	// order holds the keys of reported; once it is full, the oldest is at next.
	order []string
	next  int
	// left is how many may be reported, as of the time filled.
	left   float64
	filled time.Time
}

// newLocked returns whether a difference was not reported lately, and whether it may be
// reported now.
func (r *reports) newLocked(d Difference) (fresh, allowed bool) {
	id := fmt.Sprint(d.What, d.Kind, d.Key, d.Read, d.Path)
	if _, had := r.reported[id]; had {
		return false, false
	}
	if r.reported == nil {
		r.reported, r.left = map[string]struct{}{}, mostReports
	}
	now := time.Now()
	r.left = min(mostReports, r.left+float64(now.Sub(r.filled))/float64(reportEvery))
	r.filled = now
	if r.left < 1 {
		return true, false
	}
	r.left--
	if len(r.order) < mostRemembered {
		r.order = append(r.order, id)
	} else {
		delete(r.reported, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % mostRemembered
	}
	r.reported[id] = struct{}{}
	return true, true
}

// report reports a difference, unless it has been reported lately.
func (c *Comparison) report(d Difference) {
	r := &c.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh, allowed := r.newLocked(d)
	switch {
	case !fresh:
	case !allowed:
		c.counts.differences.Add(1)
		c.counts.unreported.Add(1)
	default:
		c.counts.differences.Add(1)
		if r.call != nil {
			r.call(d)
			return
		}
		logf.Log.WithName("kinglet").Info("The caches differ", "difference", d.String())
	}
}
