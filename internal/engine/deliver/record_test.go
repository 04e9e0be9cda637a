package deliver

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinglet-go/kinglet/store"
)

type change = store.Change[int]

// foldTwin folds by looking at the whole of what happened to a key instead of
// step by step: what the handler knew, how it stands now, and the first
// Deleted in between.
func foldTwin(knew bool, happened []change) []change {
	alive := knew
	var gone, born *change
	first := 0 // of what is folded into the last Added
	for i := range happened {
		c := &happened[i]
		switch c.Type {
		case store.Deleted:
			alive = false
			if gone == nil {
				gone = c
			}
		case store.Added:
			alive, born, first = true, c, i
		}
	}
	var out []change
	if knew && gone != nil {
		d := *gone
		if d.Last = happened[0].Old; happened[0].Type == store.Deleted {
			d.Last = happened[0].Last
		}
		d.OwnEcho = allOwn(happened)
		if alive {
			d.OwnEcho = allOwn(happened[:first])
		}
		out = append(out, d)
	}
	last := happened[len(happened)-1]
	switch {
	case alive && born != nil:
		a := *born
		if !knew {
			first = 0 // what came to nothing counts
		}
		a.New, a.ResourceVersion, a.OwnEcho = last.New, last.ResourceVersion, allOwn(happened[first:])
		out = append(out, a)
	case alive:
		u := last
		u.Old, u.OwnEcho = happened[0].Old, allOwn(happened)
		out = append(out, u)
	}
	return out
}

// allOwn reports whether all changes are the program's own.
func allOwn(changes []change) bool {
	return !slices.ContainsFunc(changes, func(c change) bool { return !c.OwnEcho })
}

// withEchoes calls yield with a history of nothing but own changes, with those of
// which one is not, and with the history as it is.
func withEchoes(history []change, yield func([]change)) {
	yield(history)
	if len(history) > 6 {
		return // it takes long, and shows no more
	}
	for other := range len(history) + 1 {
		own := slices.Clone(history)
		for i := range own {
			own[i].OwnEcho = i != other
		}
		yield(own)
	}
}

// legalHistories calls yield with every history of n changes that a store can
// produce for one key.
func legalHistories(alive bool, n int, yield func([]change)) {
	reasons := []store.Reason{store.Live, store.Initial, store.Relist}
	var extend func(alive bool, state int, history []change)
	extend = func(alive bool, state int, history []change) {
		if len(history) == n {
			yield(history)
			return
		}
		next := state + 1
		c := change{Key: store.Key{Name: "k"}, ResourceVersion: strconv.Itoa(next), Reason: reasons[len(history)%len(reasons)]}
		with := func(alive bool, c change) { extend(alive, next, append(history[:len(history):len(history)], c)) }
		if !alive {
			c.Type, c.New = store.Added, next
			with(true, c)
			return
		}
		u := c
		u.Type, u.Old, u.New = store.Updated, state, next
		with(true, u)
		for _, unknown := range []bool{false, true} {
			d := c
			d.Type, d.Old, d.Last, d.FinalStateUnknown = store.Deleted, state, state, unknown
			if !unknown {
				d.Old = -next // a state that was never held
			}
			with(false, d)
		}
	}
	extend(alive, 1, nil)
}

func TestFoldingStepByStepEqualsFoldingTheWholeHistory(t *testing.T) {
	checked := 0
	for _, knew := range []bool{false, true} {
		for n := 1; n <= 11; n++ {
			legalHistories(knew, n, func(history []change) {
				withEchoes(history, func(history []change) {
					checked++
					r := record[int]{key: store.Key{Name: "k"}}
					for i := range history {
						r.fold(&history[i])
					}
					got, want := r.appendTo(nil), foldTwin(knew, history)
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("handler knew the key: %v\nhistory: %+v\n-want +got:\n%s", knew, history, d)
					}
				})
			})
		}
	}
	if checked < 5000 {
		t.Fatalf("only %d histories were checked", checked)
	}
}

// TestEveryPairOfThePackageDocsTable goes through the table cell by cell,
// including what a store cannot produce.
func TestEveryPairFoldsAsInTheTableOfThePackageDocumentation(t *testing.T) {
	key := store.Key{Name: "k"}
	add := func(v int, rv string, why store.Reason) change {
		return change{Type: store.Added, Key: key, New: v, ResourceVersion: rv, Reason: why}
	}
	upd := func(o, n int, rv string, why store.Reason) change {
		return change{Type: store.Updated, Key: key, Old: o, New: n, ResourceVersion: rv, Reason: why}
	}
	del := func(last, v int, rv string, why store.Reason, unknown bool) change {
		return change{Type: store.Deleted, Key: key, Old: v, Last: last, ResourceVersion: rv, Reason: why, FinalStateUnknown: unknown}
	}
	var (
		newAdd = add(9, "9", store.Live)
		newUpd = upd(8, 9, "9", store.Live)
		newDel = del(7, 8, "9", store.Live, false)
		newUnk = del(8, 8, "9", store.Relist, true)
		gone   = del(2, 2, "3", store.Relist, true)
		known  = del(1, 2, "3", store.Live, false)
	)
	// after returns a Deleted that a handler receives which has received last.
	after := func(last int, d change) change {
		d.Last = last
		return d
	}
	for _, tc := range []struct {
		pending []change
		next    change
		want    []change
	}{
		{nil, newAdd, []change{newAdd}},
		{nil, newUpd, []change{newUpd}},
		{nil, newDel, []change{newDel}},
		{nil, newUnk, []change{newUnk}},

		{[]change{add(1, "1", store.Initial)}, newAdd, []change{add(9, "9", store.Initial)}},
		{[]change{add(1, "1", store.Initial)}, newUpd, []change{add(9, "9", store.Initial)}},
		{[]change{add(1, "1", store.Initial)}, newDel, nil},
		{[]change{add(1, "1", store.Initial)}, newUnk, nil},

		{[]change{upd(1, 2, "2", store.Relist)}, newAdd, []change{upd(1, 9, "9", store.Relist)}},
		{[]change{upd(1, 2, "2", store.Relist)}, newUpd, []change{upd(1, 9, "9", store.Live)}},
		{[]change{upd(1, 2, "2", store.Relist)}, newDel, []change{after(1, newDel)}},
		{[]change{upd(1, 2, "2", store.Relist)}, newUnk, []change{after(1, newUnk)}},

		{[]change{gone}, newAdd, []change{gone, newAdd}},
		{[]change{gone}, newUpd, []change{gone, add(9, "9", store.Live)}},
		{[]change{gone}, newDel, []change{after(2, newDel)}},
		{[]change{known}, newUnk, []change{known}},
		{[]change{known}, newDel, []change{known}},

		{[]change{gone, add(5, "5", store.Initial)}, newAdd, []change{gone, add(9, "9", store.Initial)}},
		{[]change{gone, add(5, "5", store.Initial)}, newUpd, []change{gone, add(9, "9", store.Initial)}},
		{[]change{gone, add(5, "5", store.Live)}, newDel, []change{gone}},
		{[]change{known, add(5, "5", store.Live)}, newUnk, []change{known}},
	} {
		t.Run(fmt.Sprintf("%v then %v", types(tc.pending), tc.next.Type), func(t *testing.T) {
			r := record[int]{key: key}
			for i := range tc.pending {
				r.fold(&tc.pending[i])
			}
			if d := cmp.Diff(tc.pending, r.appendTo(nil)); d != "" {
				t.Fatalf("pending, before: -want +got:\n%s", d)
			}
			r.fold(&tc.next)
			if d := cmp.Diff(tc.want, r.appendTo(nil)); d != "" {
				t.Fatalf("-want +got:\n%s", d)
			}
			if held := r.old != 0 || r.cur != 0 || r.last != 0; r.form == nothing && held {
				t.Fatalf("a record that is nothing still holds an object: %+v", r)
			}
		})
	}
}

func types(changes []change) []store.ChangeType {
	var ts []store.ChangeType
	for _, c := range changes {
		ts = append(ts, c.Type)
	}
	return ts
}
