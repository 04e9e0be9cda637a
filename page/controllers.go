package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
	"github.com/kinglet-go/kinglet/status"
)

// controller is a controller with the results derived from its status.
type controller struct {
	subject
	source kinglet.ObservableController
	status *status.Controller
}

// controllers returns the controllers of the set, the worst first, then by name.
func (h *handler) controllers(now time.Time) []*controller {
	observed, names := h.set.Controllers()
	all := make([]*controller, len(observed))
	for k, name := range names {
		report := observed[k].Status()
		all[k] = &controller{newSubject(name, ":"+name, report.Problems(now)), observed[k], &report}
	}
	slices.SortStableFunc(all, func(a, b *controller) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), strings.Compare(a.name, b.name))
	})
	return all
}

func controllerColumns() []column[*controller] {
	plain := func(label string, of func(*status.Controller) string) column[*controller] {
		return column[*controller]{label: label, number: true, of: func(_ time.Time, c *controller) cell { return cell{text: of(c.status)} }}
	}
	gate := plain("Gate", func(c *status.Controller) string {
		if c.GateOpen {
			return "open"
		}
		return "closed"
	})
	gate.number = false
	queued := column[*controller]{label: "Queued", number: true, of: func(now time.Time, c *controller) cell {
		return cell{text: number(c.status.Queued), more: since(now, c.status.OldestQueued)}
	}}
	return []column[*controller]{
		gate, queued,
		plain("Running", func(c *status.Controller) string {
			if c.Workers > 0 { // the queues of controller-runtime's controllers are not known
				return number(c.Running) + " of " + number(c.Workers)
			}
			return number(c.Running)
		}),
		plain("Waiting", func(c *status.Controller) string { return number(c.Waiting) }),
		plain("Failing", func(c *status.Controller) string { return number(c.Failing) }),
		plain("Succeeded", func(c *status.Controller) string { return number(c.Succeeded) }),
		plain("Failed", func(c *status.Controller) string { return number(c.Failed) }),
		plain("Mean run", func(c *status.Controller) string { return mean(&c.Runs) }),
		plain("Mean wait", func(c *status.Controller) string { return mean(&c.Waits) }),
	}
}

func (c *controller) details(now time.Time) *details {
	s := c.status
	runs := panel{Title: "Runs", None: "None yet."}
	runs.counted("succeeded", s.Succeeded)
	runs.counted("failed", s.Failed)
	runs.counted("failed for good", s.Terminal)
	runs.counted("panicked", s.Panicked)
	runs.counted("timed out", s.TimedOut)
	runs.counted("keys added", s.Adds)
	runs.counted("retries", s.Retries)
	runs.counted("changes without keys", s.Unmapped)
	d := &details{Problems: problemLines(now, c.problems), Panels: []panel{runs}}
	if len(s.Hot) > 0 {
		p := tabular("Hot keys", "Key", "#Runs a minute", "For")
		for _, x := range s.Hot {
			var causes []string
			for _, name := range slices.Sorted(maps.Keys(x.Causes)) {
				causes = append(causes, name+" "+number(x.Causes[name]))
			}
			p.row(x.Key, number(x.Runs), strings.Join(causes, ", "))
		}
		d.Panels = append(d.Panels, p)
	}
	in := c.source.Inspect()
	for title, all := range map[string][]status.KeyStatus{"Running keys": in.Running, "Failing keys": in.Failing} {
		p := tabular(title, "Key", "State", "#For", "#Failures", "#Next try", "Cause", "Error")
		p.None = "None."
		for _, x := range all {
			next := ""
			if x.Next.After(now) {
				next = "in " + since(x.Next, now)
			}
			p.row(x.Key, x.State, since(now, x.Since), number(x.Failures), next, x.Cause, trouble.OneLine(x.Error))
		}
		d.Panels = append(d.Panels, p)
	}
	slices.SortFunc(d.Panels[len(d.Panels)-2:], func(a, b panel) int { return strings.Compare(b.Title, a.Title) })
	return d
}
