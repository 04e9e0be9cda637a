package follow

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/kinglet-go/kinglet/internal/quantity"
)

// view is one collection as the status line and the summary show it.
type view struct {
	name    string
	synced  bool
	trouble string // empty while healthy
	objects int
	// received of total (0 for unknown) objects while syncing.
	received, total int64
	bytes           int64
}

// vitals has all that the status line shows.
type vitals struct {
	views     []view
	perSecond float64
	memory    memory
}

const separator = " │ "

// statusLine says as much as fits in width columns; 0 is no bound.
func statusLine(v vitals, width int) string {
	each, sum := eachCollection(v.views), allCollections(v.views)
	rate := quantity.Rate(v.perSecond) + " ev/s"
	line := ""
	for _, parts := range [][]string{
		{each, rate, memoryText(v.memory, true)},
		{each, rate, memoryText(v.memory, false)},
		{sum, rate, memoryText(v.memory, false)},
		{sum, rate},
	} {
		line = strings.Join(parts, separator)
		if width <= 0 || runewidth.StringWidth(line) < width {
			break
		}
	}
	return line
}

func eachCollection(views []view) string {
	// A problem that all collections have is shown once.
	common := views[0].trouble
	for _, v := range views {
		if v.trouble != common || !v.synced {
			common = ""
		}
	}
	items := make([]string, len(views))
	for i, v := range views {
		if common != "" {
			v.trouble = ""
		}
		items[i] = v.name + " " + v.state()
	}
	text := strings.Join(items, " · ")
	if common != "" {
		text = "✗ " + common + ": " + text
	}
	return text
}

func (v view) state() string {
	objects := quantity.Count(int64(v.objects))
	switch {
	case v.synced && v.trouble != "":
		return objects + " ✗ " + v.trouble
	case v.synced:
		return objects
	case v.trouble != "":
		return "✗ " + v.trouble
	case v.total > 0:
		return "syncing " + quantity.Count(v.received) + " of " + quantity.Count(v.total)
	}
	return "syncing " + quantity.Count(v.received)
}

func allCollections(views []view) string {
	objects, failing, syncing := 0, 0, 0
	for _, v := range views {
		objects += v.objects
		switch {
		case v.trouble != "":
			failing++
		case !v.synced:
			syncing++
		}
	}
	text := quantity.Of(int64(objects), "object")
	if failing > 0 {
		text += fmt.Sprintf(", %d of %d ✗", failing, len(views))
	}
	if syncing > 0 {
		text += fmt.Sprintf(", %d syncing", syncing)
	}
	return text
}

func memoryText(m memory, long bool) string {
	heap, rss := quantity.Bytes(int64(m.heap)), quantity.Bytes(int64(m.rss))
	switch {
	case m.rss == 0:
		return "heap " + heap
	case long:
		return "heap " + heap + ", RSS " + rss
	}
	return "RSS " + rss
}
