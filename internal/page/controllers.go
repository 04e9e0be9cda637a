package page

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/status"
)

// controllerRow is a line of the second table.
type controllerRow struct {
	ID, Name, OpenURL                         string
	Open                                      bool
	State, Mark, Word, For, Gate              string
	Queued, Oldest, Running, Waiting, Failing string
	Succeeded, Failed, Mean, Waits            string
	Details                                   *details
	severity                                  status.Severity
	problems                                  []status.Problem
}

// controllerRows returns the rows sorted: the worst first, then by name.
func controllerRows(now time.Time, q query, controllers []Controller) []controllerRow {
	reports := make([]status.Controller, len(controllers))
	for k := range controllers {
		reports[k] = controllers[k].Report()
	}
	rows := make([]controllerRow, len(controllers))
	for k, name := range status.ControllerNames(reports) {
		rows[k] = newControllerRow(now, q, name, &reports[k])
		if rows[k].Open {
			rows[k].Details = controllerDetails(now, &reports[k], controllers[k], rows[k].problems)
			rows[k].Details.ID = rows[k].ID
		}
	}
	slices.SortStableFunc(rows, func(a, b controllerRow) int {
		if a.severity != b.severity {
			return int(b.severity) - int(a.severity)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return rows
}

func newControllerRow(now time.Time, q query, name string, c *status.Controller) controllerRow {
	// In addresses, names of controllers have a colon before them.
	opens := ":" + name
	r := controllerRow{
		ID: id(opens), Name: name, Open: q.isOpen(opens), OpenURL: q.toggled(opens).url(), Word: "ok", Gate: "open",
		Queued: quantity.Count(int64(c.Queued)), Oldest: since(now, c.OldestQueued),
		Running: quantity.Count(int64(c.Running)),
		Waiting: quantity.Count(int64(c.Waiting)), Failing: quantity.Count(int64(c.Failing)),
		Succeeded: quantity.Count(int64(c.Succeeded)), Failed: quantity.Count(int64(c.Failed)),
		Mean: mean(&c.Runs), Waits: mean(&c.Waits), problems: c.Problems(now),
	}
	if c.Workers > 0 { // the queues of controller-runtime's controllers are not known
		r.Running += " of " + quantity.Count(int64(c.Workers))
	}
	if !c.GateOpen {
		r.Gate = "closed"
	}
	if len(r.problems) > 0 {
		r.severity = r.problems[0].Severity
		r.Word, r.For = state(now, &r.problems[0])
	}
	r.State, r.Mark = r.severity.String(), marks[r.severity]
	return r
}

func controllerDetails(now time.Time, c *status.Controller, of Controller, problems []status.Problem) *details {
	d := &details{Problems: problemLines(now, problems)}
	counts := panel{Title: "Runs"}
	counts.counted("succeeded", c.Succeeded)
	counts.counted("failed", c.Failed)
	counts.counted("failed for good", c.Terminal)
	counts.counted("panicked", c.Panicked)
	counts.counted("timed out", c.TimedOut)
	counts.counted("keys added", c.Adds)
	counts.counted("retries", c.Retries)
	counts.counted("changes without keys", c.Unmapped)
	counts.None = "None yet."
	d.Panels = append(d.Panels, counts)
	if len(c.Hot) > 0 {
		p := panel{Title: "Hot keys", Heads: heads("Key", "#Runs a minute", "For")}
		for _, x := range c.Hot {
			p.Rows = append(p.Rows, []cell{mono(x.Key), count(x.Runs), text(causes(x.Causes))})
		}
		d.Panels = append(d.Panels, p)
	}
	if of.Details != nil {
		in := of.Details()
		d.Panels = append(d.Panels, keys(now, "Running keys", in.Running), keys(now, "Failing keys", in.Failing))
	}
	return d
}

func causes(all map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+" "+quantity.Count(int64(all[name])))
	}
	return strings.Join(parts, ", ")
}

func keys(now time.Time, title string, all []status.KeyStatus) panel {
	p := panel{Title: title, Wide: true, Heads: heads("Key", "State", "#For", "#Failures", "#Next try", "Cause", "Error"), None: "None."}
	for k := range all {
		x := &all[k]
		next := ""
		if wait := x.Next.Sub(now); !x.Next.IsZero() && wait > 0 {
			next = "in " + coarse(wait)
		}
		p.Rows = append(p.Rows, []cell{
			mono(x.Key), text(x.State), number(since(now, x.Since)), count(x.Failures), number(next), text(x.Cause), text(trouble.OneLine(x.Error)),
		})
	}
	return p
}
