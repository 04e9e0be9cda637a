package faults_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// testdata/counts.txt says of each test which counters its faults move in the status
// of package kinglet's informer, whatever the length of waits and watches, which is
// drawn. Rewrite it with
//
//	go test ./faults -rewrite-counts -count 8
//
// and review the difference as text.
var rewriteCounts = flag.Bool("rewrite-counts", false, "rewrite testdata/counts.txt")

const countsFile = "testdata/counts.txt"

// counters are what tests have moved, by name.
var counters = sync.OnceValues(func() (map[string]string, error) {
	text, err := os.ReadFile(countsFile)
	if os.IsNotExist(err) {
		err = nil
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, moved, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			all[name] = moved
		}
	}
	return all, err
})

// rewritten is what was seen; guarded by its lock.
var rewritten struct {
	sync.Mutex
	moved map[string]string
}

// moved names the counters that a status shows above zero, except those of a start.
func moved(s kinglet.Status) []string {
	var names []string
	add := func(n uint64, format string, args ...any) {
		if n > 0 {
			names = append(names, fmt.Sprintf(format, args...))
		}
	}
	for i, n := range s.ListsByCause {
		if cause := reflector.ListCause(i); cause != reflector.ListStart {
			add(n, "list for %v", cause)
		}
	}
	for i, n := range s.WatchEnds {
		add(n, "watch %v", reflector.WatchEnd(i))
	}
	for verb := range s.ErrorsBy {
		for code, n := range s.ErrorsBy[verb] {
			add(n, "error %v %v", reflector.Verb(verb), reflector.Code(code))
		}
	}
	for i, n := range s.FailuresByStage {
		add(n, "failure %v", status.Stage(i))
	}
	add(s.Duplicates, "duplicates")
	add(s.SilentWatches, "silent")
	add(s.Epoch, "epoch")
	add(s.Probes, "probes")
	add(s.Unreadable, "unreadable")
	return names
}

// consequence reports whether a counter is one of what a fault leads to, and does not
// hang on which of several servers was asked, or on how long a watch was.
func consequence(name string) bool {
	return strings.HasPrefix(name, "list for") || strings.HasPrefix(name, "failure") ||
		name == "duplicates" || name == "unreadable" || name == "epoch"
}

// namers have tables of their own, of what is to be seen of each fault while it lasts.
var namers = []string{"TestThePageNamesEachFaultWithinFiveSecondsOfWhenItCanBeKnown", "TestTheMetricsNameEachFaultWithinFiveSecondsOfWhenItCanBeKnown"}

// counted compares the counters that have moved with those that should have.
func (r *rig) counted() {
	r.t.Helper()
	st := r.inf.Status()
	var causes, errs, ends uint64
	for _, n := range st.ListsByCause {
		causes += n
	}
	for _, n := range st.WatchEnds {
		ends += n
	}
	for _, row := range st.ErrorsBy {
		for _, n := range row {
			errs += n
		}
	}
	if errs != st.Errors || causes < st.Streams || causes > st.Streams+st.Lists || ends+1 < st.Watches || ends > st.Watches+st.Streams {
		r.t.Errorf("counts that do not add up: %+v", st.Status)
	}
	if r.engine.name != "kinglet" {
		return
	}
	name := r.t.Name()
	if end := "/" + r.engine.name + "/"; strings.Contains(name, end) {
		name = name[:strings.LastIndex(name, end)]
	}
	if top, _, _ := strings.Cut(name, "/"); slices.Contains(namers, top) {
		return
	}
	got := moved(st)
	joined := strings.Join(append(slices.Clone(got), "."), ", ")
	if *rewriteCounts {
		rewritten.Lock()
		defer rewritten.Unlock()
		if rewritten.moved == nil {
			rewritten.moved = map[string]string{}
		}
		if was, ok := rewritten.moved[name]; ok {
			always := slices.DeleteFunc(split(was), func(s string) bool { return !slices.Contains(got, s) })
			joined = strings.Join(append(always, "."), ", ")
		}
		rewritten.moved[name] = joined
		return
	}
	all, err := counters()
	if err != nil {
		r.t.Fatal(err)
	}
	want, known := all[name]
	if !known {
		r.t.Errorf("%s does not have %s, which moves %s", countsFile, name, joined)
	}
	for _, s := range split(want) {
		if !slices.Contains(got, s) {
			r.t.Errorf("it does not move %q; it moves %s", s, joined)
		}
	}
	for _, s := range got {
		if consequence(s) && !slices.Contains(split(want), s) {
			r.t.Errorf("it moves %q as well; it is to move %s", s, want)
		}
	}
}

// split returns the names of a line.
func split(line string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(line, "."), ", "), func(s string) bool { return s == "" })
}

// writeCounts is called when all tests have run.
func writeCounts() error {
	if !*rewriteCounts {
		return nil
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rewritten.moved)) {
		fmt.Fprintf(&b, "%s: %s\n", name, rewritten.moved[name])
	}
	return os.WriteFile(countsFile, []byte(b.String()), 0o644)
}

// TestEveryFaultMovesTheCounterThatOneExpects fails if a test of the file is gone.
func TestEveryFaultMovesTheCounterThatOneExpects(t *testing.T) {
	all, err := counters()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("%s is about %d tests only", countsFile, len(all))
	}
}
