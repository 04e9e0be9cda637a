package follow

import (
	"fmt"
	"os"
	"runtime/metrics"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
)

// view is the state of one collection, for display.
type view struct {
	name    string
	synced  bool
	trouble string // empty while healthy
	objects int
	// received of total (0 for unknown) objects while syncing.
	received, total int64
	took            time.Duration
	bytes           int64
	// errors counts failed requests and objects that could not be read.
	added, modified, deleted, errors int64
}

// events counts the changes that were shown.
func (v *view) events() int64 { return v.added + v.modified + v.deleted }

// progress words how far a collection that is syncing has come.
func (v *view) progress() string {
	text := quantity.Count(v.received)
	if v.total > 0 {
		text += " of " + quantity.Count(max(v.total, v.received))
	}
	text += " objects"
	if v.bytes > 0 {
		text += ", " + quantity.Bytes(v.bytes)
	}
	if v.took > time.Second/2 {
		text += ", " + quantity.Rate(float64(v.received)/v.took.Seconds()) + "/s"
	}
	return text
}

// status is a line about all collections: their objects or problems, events a second, memory.
func status(views []view, perSecond float64, m memory) string {
	// A problem that all collections have is shown once.
	common := views[0].trouble
	for _, c := range views {
		if c.trouble != common || !c.synced {
			common = ""
		}
	}
	items := make([]string, len(views))
	for i, c := range views {
		if common != "" {
			c.trouble = ""
		}
		items[i] = c.name + " " + c.state()
	}
	text := strings.Join(items, " · ")
	if common != "" {
		text = "✗ " + common + ": " + text
	}
	return text + " │ " + quantity.Rate(perSecond) + " ev/s │ " + m.String()
}

func (v *view) state() string {
	objects := quantity.Count(int64(v.objects))
	switch {
	case v.synced && v.trouble != "":
		return objects + " ✗ " + v.trouble
	case v.synced:
		return objects
	case v.trouble != "":
		return "✗ " + v.trouble
	}
	return "syncing"
}

// summary is shown at the end, in several lines, the last without a line break.
func summary(views []view, took time.Duration, m memory, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "watched for %s (%s)\n", quantity.Duration(took.Round(100*time.Millisecond)), why)
	table := printers.GetNewTabWriter(&b)
	fmt.Fprintln(table, "RESOURCE\tOBJECTS\tADDED\tMODIFIED\tDELETED\tEV/S\tREAD\tERRORS")
	for _, c := range views {
		objects := quantity.Count(int64(c.objects))
		if !c.synced {
			objects = "not synced"
		}
		rate := float64(c.events()) / max(took.Seconds(), 1e-9)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.name, objects, quantity.Count(c.added), quantity.Count(c.modified),
			quantity.Count(c.deleted), quantity.Rate(rate), quantity.Bytes(c.bytes), quantity.Count(c.errors))
	}
	_ = table.Flush() // into memory
	return b.String() + "memory: " + m.String()
}

// memory is what the process uses, in bytes.
type memory struct {
	heap uint64 // objects, dead ones included until they are swept
	rss  uint64 // 0 where the system does not say
}

// readMemory costs microseconds and stops nothing.
func readMemory() memory {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	m := memory{heap: samples[0].Value.Uint64()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux
		var size, resident uint64
		if _, err := fmt.Sscan(string(text), &size, &resident); err == nil {
			m.rss = resident * uint64(os.Getpagesize())
		}
	}
	return m
}

func (m memory) String() string {
	heap := "heap " + quantity.Bytes(int64(m.heap))
	if m.rss == 0 {
		return heap
	}
	return heap + ", RSS " + quantity.Bytes(int64(m.rss))
}
