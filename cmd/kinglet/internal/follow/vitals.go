package follow

import (
	"fmt"
	"os"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kinglet-go/kinglet/internal/quantity"
)

// vitals is what the rows at the bottom and the summary show.
type vitals struct {
	views     []view
	took      time.Duration // since the start
	perSecond float64
	memory    memory
}

// view is one collection of them.
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

const separator = " │ "

// rows are a row for each collection of which objects have come and more are to come, and
// the status line.
func (v *vitals) rows(width int) (rows []string) {
	for i := range v.views {
		if c := &v.views[i]; !c.synced && c.trouble == "" && c.received > 0 {
			rows = append(rows, c.name+": "+c.progress())
		}
	}
	return append(rows, v.status(width))
}

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

// status says as much as fits in width columns; 0 is no bound.
func (v *vitals) status(width int) string {
	each, sum := v.each(), v.sum()
	rate := quantity.Rate(v.perSecond) + " ev/s"
	line := ""
	for _, parts := range [][]string{
		{each, rate, v.memory.String()},
		{each, rate, v.memory.short()},
		{sum, rate, v.memory.short()},
		{sum, rate},
	} {
		line = strings.Join(parts, separator)
		if width <= 0 || runewidth.StringWidth(line) < width {
			break
		}
	}
	return line
}

func (v *vitals) each() string {
	// A problem that all collections have is shown once.
	common := v.views[0].trouble
	for _, c := range v.views {
		if c.trouble != common || !c.synced {
			common = ""
		}
	}
	items := make([]string, len(v.views))
	for i, c := range v.views {
		if common != "" {
			c.trouble = ""
		}
		items[i] = c.name + " " + c.state()
	}
	text := strings.Join(items, " · ")
	if common != "" {
		text = "✗ " + common + ": " + text
	}
	return text
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

func (v *vitals) sum() string {
	objects, failing, syncing := 0, 0, 0
	for _, c := range v.views {
		objects += c.objects
		switch {
		case c.trouble != "":
			failing++
		case !c.synced:
			syncing++
		}
	}
	text := quantity.Of(int64(objects), "object")
	if failing > 0 {
		text += fmt.Sprintf(", %d of %d ✗", failing, len(v.views))
	}
	if syncing > 0 {
		text += fmt.Sprintf(", %d syncing", syncing)
	}
	return text
}

// summary is shown at the end, in several lines, the last without a line break.
func (v *vitals) summary(why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "watched for %s (%s)\n", quantity.Duration(v.took.Round(100*time.Millisecond)), why)
	table := printers.GetNewTabWriter(&b)
	fmt.Fprintln(table, "RESOURCE\tOBJECTS\tADDED\tMODIFIED\tDELETED\tEV/S\tREAD\tERRORS")
	for _, c := range v.views {
		objects := quantity.Count(int64(c.objects))
		if !c.synced {
			objects = "not synced"
		}
		rate := float64(c.added+c.modified+c.deleted) / max(v.took.Seconds(), 1e-9)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.name, objects, quantity.Count(c.added), quantity.Count(c.modified),
			quantity.Count(c.deleted), quantity.Rate(rate), quantity.Bytes(c.bytes), quantity.Count(c.errors))
	}
	_ = table.Flush() // into memory
	return b.String() + "memory: " + v.memory.String()
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
	if m.rss == 0 {
		return m.short()
	}
	return "heap " + quantity.Bytes(int64(m.heap)) + ", " + m.short()
}

func (m memory) short() string {
	if m.rss == 0 {
		return "heap " + quantity.Bytes(int64(m.heap))
	}
	return "RSS " + quantity.Bytes(int64(m.rss))
}

// rate is how fast a counter grows, as a moving average: slow enough not to flicker, quick
// enough to follow what happens.
type rate struct {
	at        time.Time
	count     int64
	perSecond float64
}

// add tells the counter's value at a time, which never falls, and returns its growth a
// second. A change shows by two thirds after rateTime.
func (r *rate) add(at time.Time, count int64) float64 {
	const rateTime = 2 * time.Second
	if passed := at.Sub(r.at); !r.at.IsZero() && passed > 0 {
		share := min(1, float64(passed)/float64(rateTime))
		r.perSecond += share * (float64(count-r.count)/passed.Seconds() - r.perSecond)
	}
	r.at, r.count = at, count
	return r.perSecond
}
