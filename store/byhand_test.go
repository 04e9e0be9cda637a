package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Objects are put, removed and put back by hand between Reported batches, and receivers
// begin at any time. After each batch, every receiver knows what the source has, even if
// the store held that already. Every change is legal, and no delete is missing.
func TestChangesThatAreReportedAreALegalHistoryWhateverIsWrittenByHand(t *testing.T) {
	type object struct {
		key     Key
		version int
	}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 10))
		s, err := New(Options[object]{
			KeyFunc: func(o object) (Key, error) { return o.key, nil },
			Equal:   func(a, b object) bool { return a == b },
		})
		if err != nil {
			t.Fatal(err)
		}
		// Receivers begin once there was a list.
		if _, err := s.Replace(Batch[object]{Reported: true}, nil); err != nil {
			t.Fatal(err)
		}
		source := map[Key]object{}
		// receivers are what each knows. The first one begins before everything.
		receivers := []map[Key]object{{}}
		begin := func() {
			state, byHand := s.Begin()
			knows, other := map[Key]object{}, map[Key]bool{}
			for o := range state.All() {
				if knows[o.key] = o; receivers[0][o.key] == (object{}) {
					other[o.key] = true
				}
			}
			for key := range receivers[0] {
				if knows[key] == (object{}) {
					other[key] = false
				}
			}
			if !maps.Equal(byHand, other) {
				t.Fatalf("seed %d: begins with other keys %v, want %v", seed, byHand, other)
			}
			receivers = append(receivers, knows)
		}
		tell := func(c Change[object]) {
			if _, first := receivers[0][c.Key]; first == (c.Type == Added || c.ByHand) {
				t.Fatalf("seed %d: %v of %v, by hand: %v, which the first knows: %v", seed, c.Type, c.Key, c.ByHand, first)
			}
			if c.Type != Added && c.Old.key != c.Key || c.Type == Deleted && c.Last.key != c.Key {
				t.Fatalf("seed %d: the Old of %v of %v is %v, Last %v", seed, c.Type, c.Key, c.Old, c.Last)
			}
			for i, knows := range receivers {
				if _, known := knows[c.Key]; known && c.Type == Added {
					t.Fatalf("seed %d: receiver %d gets a second Added of %v", seed, i, c.Key)
				}
				if knows[c.Key] = c.New; c.Type == Deleted {
					delete(knows, c.Key)
				}
			}
		}
		latest, reported := "", ""
		some := func() Key { return Key{Name: fmt.Sprint(rnd.IntN(6))} }
		for step := range 60 {
			// next is the object as the source or the store has it, or a new one.
			next := func(key Key) object {
				o, is := source[key]
				if rnd.IntN(2) == 0 {
					o, is = s.Get(key)
				}
				if !is || rnd.IntN(3) == 0 {
					return object{key, step + 1}
				}
				return o
			}
			key, version := some(), fmt.Sprint(step)
			obj := next(key)
			kind := rnd.IntN(10)
			if kind != 0 && kind != 4 && kind != 9 {
				latest = version
			}
			if kind > 4 && kind < 9 {
				reported = version
			}
			switch kind {
			case 0:
				s.Delete(key)
			case 1:
				err = s.Write(Op[object]{Key: key, Object: obj, Delete: rnd.IntN(3) > 0, ResourceVersion: version})
			case 2:
				_, err = s.Apply(Batch[object]{Ops: []Op[object]{{Key: key, Object: obj, Delete: rnd.IntN(3) > 0}, {Key: some(), Delete: true}}, ResourceVersion: version}, nil)
			case 3:
				_, err = s.Replace(Batch[object]{Ops: []Op[object]{{Key: key, Object: obj}}[:rnd.IntN(2)], ResourceVersion: version}, nil)
			case 4:
				err = s.Put(obj)
			case 5, 6, 7:
				b := Batch[object]{Reported: true, ResourceVersion: version}
				for range 1 + rnd.IntN(3) {
					op := Op[object]{Key: some(), Delete: rnd.IntN(2) == 0, IfChanged: rnd.IntN(2) == 0}
					op.Object = next(op.Key)
					op.HasObject = op.Delete && rnd.IntN(2) == 0
					b.Ops = append(b.Ops, op)
					if source[op.Key] = op.Object; op.Delete {
						delete(source, op.Key)
					}
				}
				var changes []Change[object]
				changes, err = s.Apply(b, nil)
				for _, c := range changes {
					tell(c)
				}
				for _, op := range b.Ops {
					for i, knows := range receivers {
						if knows[op.Key] != source[op.Key] {
							t.Fatalf("seed %d: receiver %d knows %v, the source has %v", seed, i, knows[op.Key], source[op.Key])
						}
					}
				}
			case 8:
				b := Batch[object]{Reported: true, Reason: Relist, ResourceVersion: version}
				now := map[Key]object{}
				for range rnd.IntN(6) {
					k := some()
					now[k] = next(k)
				}
				source = now
				for _, k := range slices.SortedFunc(maps.Keys(now), Key.Compare) {
					b.Ops = append(b.Ops, Op[object]{Key: k, Object: now[k]})
				}
				var changes []Change[object]
				changes, err = s.Replace(b, nil)
				for _, c := range changes {
					tell(c)
				}
				for i, knows := range receivers {
					if !maps.Equal(knows, source) {
						t.Fatalf("seed %d: receiver %d knows %v, the list has %v", seed, i, knows, source)
					}
				}
				if len(s.byHand.keys) > 0 {
					t.Fatalf("seed %d: remembered after a list: %v", seed, s.byHand.keys)
				}
			case 9:
				begin()
			}
			if err != nil {
				t.Fatal(err)
			}
			if any, of := s.ResourceVersion(""), s.ReportedVersion(""); any != latest || of != reported {
				t.Fatalf("seed %d: the versions are %q and %q, want %q and %q", seed, any, of, latest, reported)
			}
			// Memory follows what is there, or is known to be.
			for key := range s.byHand.keys {
				_, held := s.Get(key)
				if !held && !slices.ContainsFunc(receivers, func(knows map[Key]object) bool { return knows[key] != (object{}) }) {
					t.Fatalf("seed %d: %v is remembered, which is not held, and nobody knows it", seed, key)
				}
			}
		}
	}
}
