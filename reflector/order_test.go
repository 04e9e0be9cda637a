package reflector

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/source"
)

// TestWithinOneWatchEveryEventIsAppliedInTheOrderOfArrival is the rule, with
// what its cases had in common before: an event was lost, or its watch was. If the
// first event is below the list's version, the server may have restarted in between,
// and Status says so.
func TestWithinOneWatchEveryEventIsAppliedInTheOrderOfArrival(t *testing.T) {
	for _, tc := range []struct {
		name     string
		list     answer
		events   []source.Event[*thing]
		want     []string
		reported int
		doubtful bool
	}{
		{"an empty list without a version, and a fake that numbers each object", lists(""),
			[]source.Event[*thing]{event(source.Added, "a", "1"), event(source.Modified, "a", "2"), event(source.Added, "b", "1"), event(source.Deleted, "a", "2")},
			[]string{"replace by at ", "apply ADDED a@1 MODIFIED a@2 to be at 2", "apply ADDED b@1 DELETED a@2 to be at 2"}, 1, false},
		{"below the list's version, of an object that is new", lists("1000"),
			[]source.Event[*thing]{event(source.Added, "a", "1")},
			[]string{"replace by at 1000", "apply ADDED a@1 to be at 1"}, 1, true},
		{"below the list's version, of an object that is held", lists("1000", item("a", "900")),
			[]source.Event[*thing]{event(source.Modified, "a", "1")},
			[]string{"replace by a@900 at 1000", "apply MODIFIED a@1 to be at 1"}, 1, true},
		{"a delete that carries an earlier state", lists("1000", item("a", "1")),
			[]source.Event[*thing]{event(source.Modified, "a", "2"), event(source.Deleted, "a", "1")},
			[]string{"replace by a@1 at 1000", "apply MODIFIED a@2 DELETED a@1 to be at 1"}, 1, true},
		{"a delete of what is not held", lists("1000"),
			[]source.Event[*thing]{event(source.Deleted, "a", "1")},
			[]string{"replace by at 1000", "apply DELETED a@1 to be at 1"}, 1, true},
		{"the version that the watch began at", lists("10", item("a", "10")),
			[]source.Event[*thing]{event(source.Modified, "a", "10"), event(source.Deleted, "a", "10")},
			[]string{"replace by a@10 at 10", "apply MODIFIED a@10 DELETED a@10 to be at 10"}, 0, false},
		{"versions that are no numbers", lists("b"),
			[]source.Event[*thing]{event(source.Added, "a", "a"), event(source.Modified, "a", "7"), event(source.Deleted, "a", "c")},
			[]string{"replace by at b", "apply ADDED a@a MODIFIED a@7 DELETED a@c to be at c"}, 0, false},
		{"bookmarks that go back", lists("10"),
			[]source.Event[*thing]{bookmark("20"), bookmark("15"), event(source.Added, "a", "12")},
			[]string{"replace by at 10", "bookmark 20", "bookmark 15", "apply ADDED a@12 to be at 12"}, 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, Options{DisableWatchList: true}, []answer{tc.list, sends(silence, tc.events...)}, func(t *testing.T, p *playing) {
				lives := 4 * time.Minute
				if tc.doubtful {
					lives = time.Minute // a doubt ends the watch after 90 s
				}
				p.pass(lives)
				expect(t, "sink", p.sink.said(), tc.want...)
				if n := len(p.script.asked); n != 2 {
					t.Errorf("%d requests:\n%s", n, p.script.heard())
				}
				for _, err := range p.errors {
					if !errors.Is(err, ErrOutOfOrder) {
						t.Errorf("reported %v", err)
					}
				}
				if s := p.Status(); len(p.errors) != tc.reported || s.Degraded != tc.doubtful || s.Phase != Watching {
					t.Errorf("reported %v; %+v", p.errors, s)
				}
			})
		})
	}
}

// TestRandomVersionsInAWatchChangeNothingButTheVersion streams random events
// with random versions, in random batches.
func TestRandomVersionsInAWatchChangeNothingButTheVersion(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(200) {
		if err := orderTrial(t, seed, i); err != nil {
			t.Error(err)
		}
	}
}

// orderTrial is one stream of these, and returns what is wrong with what was
// applied of it.
func orderTrial(t *testing.T, seed, i uint64) (err error) {
	r := rand.New(rand.NewPCG(seed, i))
	version := func() string {
		return []string{"", "x", strconv.Itoa(1 + r.IntN(100))}[min(2, r.IntN(20))]
	}
	want, last, stream := "", "", answer(silence)
	var versions []string // the last batch's first
	for range 1 + r.IntN(10) {
		var batch []source.Event[*thing]
		said := ""
		for range 1 + r.IntN(10) {
			e := event(source.EventType(1+r.IntN(3)), "o"+strconv.Itoa(r.IntN(4)), version())
			if r.IntN(8) == 0 {
				e = bookmark(version())
			} else {
				said += fmt.Sprintf(" %v %s", e.Type, describe(&e.Item))
			}
			batch = append(batch, e)
		}
		// The last batch is made first.
		for n := len(batch) - 1; n >= 0; n-- {
			versions = append(versions, batch[n].ResourceVersion)
		}
		for n := len(batch) - 1; n >= 0 && last == ""; n-- {
			last = batch[n].ResourceVersion
		}
		want, stream = said+want, sends(stream, batch...)
	}
	last = cmp.Or(last, "50")
	play(t, Options{DisableWatchList: true}, []answer{lists("50"), stream}, func(t *testing.T, p *playing) {
		got := ""
		for call := range strings.SplitSeq(p.sink.said(), "\n") {
			if applied, ok := strings.CutPrefix(call, "apply"); ok {
				applied, _, _ = strings.Cut(applied, " to be at ")
				got += applied
			}
		}
		if got != want {
			err = fmt.Errorf("seed %d, stream %d: applied\n%s\nwant\n%s", seed, i, got, want)
		}
		if s := p.Status(); s.ResourceVersion != last || s.Lists != 1 || s.Watches != 1 || s.Degraded != belowTheList(versions) || len(p.errors) > 1 {
			err = errors.Join(err, fmt.Errorf("seed %d, stream %d: want version %s; reported %v; %+v", seed, i, last, p.errors, s))
		}
	})
	return err
}

// belowTheList reports whether the first version that goes back is below 50, and none
// was above it before. The versions are in reverse order.
func belowTheList(versions []string) bool {
	at, past := "50", false
	for _, v := range slices.Backward(versions) {
		if v == "" || v == at {
			continue
		}
		if order, ok := resourceversion.Compare(v, at); ok && order < 0 {
			below, _ := resourceversion.Compare(v, "50")
			return !past && below < 0
		}
		at = v
		if order, ok := resourceversion.Compare(v, "50"); ok {
			past = order > 0
		}
	}
	return false
}

// TestABookmarkWithoutAVersionEndsTheInitialEvents as hand-made watches send it.
// The store has no version then, until an event brings one, and the next watch
// goes on from there: from nowhere, if none did.
func TestABookmarkWithoutAVersionEndsTheInitialEvents(t *testing.T) {
	play(t, Options{}, []answer{
		sends(after(time.Minute, ends), event(source.Added, "a", "3"), initialEventsEnd("")),
		lists("", item("a", "3")),
		sends(after(time.Minute, ends), event(source.Added, "a", "3"), bookmark("")),
		lists("", item("a", "3")),
		sends(after(time.Minute, ends), event(source.Modified, "a", "5"), bookmark("")),
	}, func(t *testing.T, p *playing) {
		p.pass(4 * time.Minute)
		expect(t, "sink", p.sink.said(), "replace by a@3 at ", "replace by a@3 at ", "apply ADDED a@3 to be at ", "replace by a@3 at ", "apply MODIFIED a@5 to be at 5")
		expect(t, "requests", p.script.heard(), `0s watch-list ""`, `1m0s list "" limit=500 continue=""`, `1m0s watch ""`, `2m0s list "" limit=500 continue=""`, `2m0s watch ""`, `3m0s watch "5"`)
		if s := p.Status(); !s.Synced || s.Degraded || len(p.errors) > 0 {
			t.Errorf("reported %v; %+v", p.errors, s)
		}
	})
}

// TestEventsOfAnotherKindMoveNothing: not the version, not what is staged, and
// no list follows.
func TestEventsOfAnotherKindMoveNothing(t *testing.T) {
	other := func(typ source.EventType, name string) source.Event[*thing] {
		e := event(typ, name, "90")
		e.Object, e.Err = nil, &source.ItemError{Key: e.Key, Err: &source.KindError{}}
		return e
	}
	odd := source.Event[*thing]{Type: source.Unknown, Item: source.Item[*thing]{Err: fmt.Errorf("BOOKMARK: %w", &source.KindError{})}}
	nameless := other(source.Deleted, "")
	play(t, Options{}, []answer{sends(silence,
		event(source.Added, "a", "3"), other(source.Added, "a"), other(source.Modified, "a"), other(source.Deleted, "a"), odd,
		event(source.Modified, "a", "4"), initialEventsEnd("5"),
		other(source.Added, "a"), other(source.Modified, "b"), other(source.Deleted, "a"), nameless, odd, event(source.Modified, "a", "6"),
	)}, func(t *testing.T, p *playing) {
		p.pass(time.Minute)
		expect(t, "sink", p.sink.said(), "replace by a@4 a@90! a@90! at 5",
			"apply ADDED a@90! MODIFIED b@90! DELETED a@90! DELETED @90! to be at 5", "apply MODIFIED a@6 to be at 6")
		expect(t, "requests", p.script.heard(), `0s watch-list ""`)
		if s := p.Status(); s.Degraded || len(p.errors) != 3 {
			t.Errorf("reported %v; %+v", p.errors, s)
		}
	})
}
