package page

import (
	"bytes"
	"runtime/pprof"
	"strconv"
	"strings"
)

// stacksOf returns the stacks of the goroutines of an informer, which have its name as a
// label, from a profile in the format of pprof's debug=1: blocks of lines, one of which has
// the labels as quoted strings.
func (h *handler) stacksOf(informer string) (found []string) {
	const most = 16
	h.stacks.Lock()
	defer h.stacks.Unlock()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	wanted := ", " + strconv.Quote("kinglet.informer") + ":" + strconv.Quote(informer) + ", "
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		stack, labelled := "", false
		for line := range strings.SplitSeq(block, "\n") {
			if labels, ok := strings.CutPrefix(line, "# labels: {"); ok {
				// Labels are quoted, so a name with braces or commas does not match another.
				labelled = strings.Contains(", "+strings.TrimSuffix(labels, "}")+", ", wanted)
				stack += "{" + labels + "\n"
			} else if _, frame, ok := strings.Cut(strings.TrimPrefix(line, "#\t"), "\t"); ok && line[0] == '#' {
				stack += "  " + strings.TrimSpace(strings.ReplaceAll(frame, "\t", "  ")) + "\n"
			}
		}
		if labelled && len(found) < most {
			found = append(found, stack)
		}
	}
	return found
}
