package page

import (
	"bytes"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
)

// stacks reads the stacks of goroutines by their pprof labels. A profile of
// goroutines stops the program for a moment, so one is made at a time.
type stacks struct{ mu sync.Mutex }

// maxStacks bounds how many stacks are shown.
const maxStacks = 16

// labelInformer is the label that an informer's goroutines have.
const labelInformer = "kinglet.informer"

// of returns the stacks of the goroutines of an informer, each with its labels.
func (s *stacks) of(informer string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return nil
	}
	return stacksOf(b.String(), informer)
}

// stacksOf finds stacks in a profile of goroutines in the format of pprof's debug=1:
// blocks of lines, one of which has the labels as quoted strings.
func stacksOf(profile, informer string) (found []string) {
	label := strconv.Quote(labelInformer) + ":" + strconv.Quote(informer)
	for block := range strings.SplitSeq(profile, "\n\n") {
		if !labelled(block, label) {
			continue
		}
		if found = append(found, tidyStack(block)); len(found) == maxStacks {
			break
		}
	}
	return found
}

func labelled(block, label string) bool {
	for line := range strings.SplitSeq(block, "\n") {
		if labels, ok := strings.CutPrefix(line, "# labels: {"); ok {
			// Labels are quoted, so a name with braces or commas does not match
			// another label.
			return strings.Contains(", "+strings.TrimSuffix(labels, "}")+", ", ", "+label+", ")
		}
	}
	return false
}

// tidyStack keeps the labels, and of each frame the function, file and line.
func tidyStack(block string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(block, "\n") {
		if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
			out.WriteString(labels + "\n")
			continue
		}
		if frame, ok := strings.CutPrefix(line, "#\t"); ok {
			fields := strings.Split(frame, "\t")
			if len(fields) < 2 {
				continue
			}
			out.WriteString("  " + strings.TrimSpace(strings.Join(fields[1:], "  ")) + "\n")
		}
	}
	return out.String()
}
