package follow

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
)

// Summary is the result of a session.
type Summary struct {
	// Took is the time from start to stop, Ended why it stopped.
	Took        time.Duration
	Ended       string
	Collections []CollectionSummary
	Memory      memory
}

// CollectionSummary is one line of it.
type CollectionSummary struct {
	Name                     string
	Synced                   bool
	Trouble                  string // what was wrong at the end
	Objects                  int
	Added, Modified, Deleted int64
	Bytes                    int64
	// Errors counts failed requests and objects that could not be taken in.
	Errors int64
}

// neverSynced lists the collections that were never complete.
func (s *Summary) neverSynced() []string {
	var out []string
	for _, c := range s.Collections {
		if !c.Synced {
			text := c.Name
			if c.Trouble != "" {
				text += " (" + c.Trouble + ")"
			}
			out = append(out, text)
		}
	}
	return out
}

// String returns the summary in several lines, the last without a line break.
func (s *Summary) String() string {
	header := []string{"RESOURCE", "OBJECTS", "ADDED", "MODIFIED", "DELETED", "EV/S", "READ", "ERRORS"}
	rows := [][]string{header}
	seconds := max(s.Took.Seconds(), 1e-9)
	for _, c := range s.Collections {
		objects := quantity.Count(int64(c.Objects))
		if !c.Synced {
			objects = "not synced"
		}
		rows = append(rows, []string{
			c.Name, objects,
			quantity.Count(c.Added), quantity.Count(c.Modified), quantity.Count(c.Deleted),
			quantity.Rate(float64(c.Added+c.Modified+c.Deleted) / seconds),
			quantity.Bytes(c.Bytes), quantity.Count(c.Errors),
		})
	}
	lines := []string{fmt.Sprintf("watched for %s (%s)", quantity.Duration(s.Took.Round(100*time.Millisecond)), s.Ended)}
	lines = append(lines, table(rows)...)
	lines = append(lines, "memory: "+memoryText(s.Memory, true))
	return strings.Join(lines, "\n")
}

// table aligns the first column to the left and numbers to the right.
func table(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			if j == 0 {
				fmt.Fprintf(&b, "%-*s", widths[j], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", widths[j], cell)
			}
		}
		lines[i] = b.String()
	}
	return lines
}
