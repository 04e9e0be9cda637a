package torture_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestNothingIsLostWhateverIsRefused: what client-go shows in the end, kinglet shows, or
// what is nearer to the server, and no later than four times client-go's time and some
// waits of at most a minute (compareCourses has the rule). If lists are granted in the
// end, kinglet equals the server whatever client-go does.
func TestNothingIsLostWhateverIsRefused(t *testing.T) {
	n := testkit.Trials(100)
	if *trials > 0 {
		n = *trials
	}
	began := time.Now()
	totals := map[string]time.Duration{}
	for i := 0; *duration == 0 && i < n || *duration > 0 && time.Since(began) < *duration/5; i++ {
		p := planOfRoles(firstSeed() + uint64(i))
		courses := map[string]course{}
		for _, e := range roleEngines() {
			courses[e.name] = courseOf(t, p, e)
		}
		theirs := courses["client-go"]
		for name, c := range courses {
			if theirs.settled >= 0 && c.settled >= 0 {
				totals[name] += c.settled
			}
			if name == "client-go" {
				continue
			}
			if wrong := compareCourses(p, theirs, c); wrong != "" {
				t.Errorf("%s: %s\n%s%s\nclient-go: %s", name, wrong, p, c.describe(), theirs.describe())
			}
		}
	}
	t.Logf("%v in all: %v", totals, time.Since(began))
}

func (c *course) describe() string {
	s := fmt.Sprintf("settled after %v, %d wrong: %s\n", c.settled, c.wrong, c.shown)
	for _, l := range c.log[:min(len(c.log), 8)] {
		s += "    " + l + "\n"
	}
	return s
}

func courseOf(t *testing.T, p *rolePlan, e roleEngine) (c course) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newRoles(p)
		defer w.close()
		var err error
		if c, err = w.run(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// compareCourses says what is wrong with ours.
func compareCourses(p *rolePlan, theirs, ours course) string {
	last := &p.phases[len(p.phases)-1]
	restarts := slices.ContainsFunc(p.phases, func(ph phase) bool { return ph.restart })
	slack := 4 * time.Second
	if len(p.phases) > 1 || len(last.writes) > 0 || p.listKind != "" {
		// A wait of a minute may be under way. Each refusal adds one, and a refused list the
		// minute of the watch before the next. A list of an odd kind is as good as refused.
		slack = time.Duration(2+2*last.times) * time.Minute
	}
	switch {
	case ours.hot:
		return "requests without a wait"
	case restarts && (p.opaque || p.history == versionless):
		// A version without an order may be one of the new numbers. Without any, a client's
		// functions may be a fake's, whose list is never asked for without need.
		return ""
	case ours.wrong > 0 && !last.good(list) && p.listKind == "": // client-go's decoders refuse other kinds
		return fmt.Sprintf("%d keys are wrong, although lists are granted", ours.wrong)
	case restarts:
		// The server restarts when a client has listed, which each does at its own time.
		return ""
	case p.history != kept && last.good(list):
		// Only a list could bring what happened while no watch was open.
		return ""
	case ours.wrong > theirs.wrong:
		return fmt.Sprintf("%d keys are wrong, client-go's %d", ours.wrong, theirs.wrong)
	case theirs.settled >= 0 && ours.settled > 4*theirs.settled+slack:
		return fmt.Sprintf("settled after %v, client-go %v", ours.settled, theirs.settled)
	}
	return ""
}
