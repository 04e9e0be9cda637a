package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever is put and removed by hand between the batches that somebody
// is told of: from the changes follows what the source has said, each step of
// them is legal, no delete is missing, and the source's version is known.
func TestChangesThatAreReportedAreALegalHistoryWhateverIsWrittenByHand(t *testing.T) {
	type object struct {
		key     Key
		version int
	}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 10))
		s, err := New(Options[object]{KeyFunc: func(o object) (Key, error) { return o.key, nil }})
		if err != nil {
			t.Fatal(err)
		}
		// Receivers begin once there was a list.
		if _, err := s.Replace(Batch[object]{Reported: true}, nil); err != nil {
			t.Fatal(err)
		}
		told, source := map[Key]bool{}, map[Key]bool{}
		tell := func(c Change[object]) {
			if c.ByHand { // nobody has begun since
				if c.Type == Deleted {
					return
				}
				c.Type, c.Old = Added, object{}
			}
			if (c.Type == Added) == told[c.Key] {
				t.Fatalf("seed %d: %v of %v, which is known: %v", seed, c.Type, c.Key, told[c.Key])
			}
			if told[c.Key] = c.Type != Deleted; !told[c.Key] {
				delete(told, c.Key)
			}
			if c.Type != Added && c.Old.key != c.Key || c.Type == Deleted && c.Last.key != c.Key {
				t.Fatalf("seed %d: the Old of %v of %v is %v, Last %v", seed, c.Type, c.Key, c.Old, c.Last)
			}
		}
		latest, reported := "", ""
		some := func() Key { return Key{Name: fmt.Sprint(rnd.IntN(6))} }
		for step := range 60 {
			key := some()
			obj, version := object{key, step}, fmt.Sprint(step)
			kind := rnd.IntN(9)
			if kind != 0 && kind != 4 {
				latest = version
			}
			if kind > 4 {
				reported = version
			}
			switch kind {
			case 0:
				s.Delete(key)
			case 1:
				err = s.Write(Op[object]{Key: key, Delete: true, ResourceVersion: version})
			case 2:
				_, err = s.Apply(Batch[object]{Ops: []Op[object]{{Key: key, Delete: true}, {Key: some(), Delete: true}}, ResourceVersion: version}, nil)
			case 3:
				_, err = s.Replace(Batch[object]{Ops: []Op[object]{{Key: key, Object: obj}}[:rnd.IntN(2)], ResourceVersion: version}, nil)
			case 4:
				err = s.Put(obj)
			case 5, 6, 7:
				b := Batch[object]{Reported: true, ResourceVersion: version}
				for range 1 + rnd.IntN(3) {
					op := Op[object]{Key: some(), Delete: rnd.IntN(2) == 0}
					op.Object = object{op.Key, step}
					op.HasObject = op.Delete && rnd.IntN(2) == 0
					b.Ops = append(b.Ops, op)
					if source[op.Key] = !op.Delete; op.Delete {
						delete(source, op.Key)
					}
				}
				var changes []Change[object]
				changes, err = s.Apply(b, nil)
				for _, c := range changes {
					tell(c)
				}
				for _, op := range b.Ops {
					if told[op.Key] != source[op.Key] {
						t.Fatalf("seed %d: %v is known: %v, and the source has it: %v", seed, op.Key, told[op.Key], source[op.Key])
					}
				}
			case 8:
				b := Batch[object]{Reported: true, Reason: Relist, ResourceVersion: version}
				clear(source)
				for range rnd.IntN(4) {
					k := some()
					source[k] = true
					b.Ops = append(b.Ops, Op[object]{Key: k, Object: object{k, step}})
				}
				b.Ops = slices.CompactFunc(b.Ops, func(a, b Op[object]) bool { return a.Key == b.Key })
				var changes []Change[object]
				changes, err = s.Replace(b, nil)
				for _, c := range changes {
					tell(c)
				}
				if fmt.Sprint(told) != fmt.Sprint(source) || len(s.byHand.keys) > 0 {
					t.Fatalf("seed %d: known %v, the list has %v, by hand %v", seed, told, source, s.ByHand())
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if any, of := s.ResourceVersion(""), s.ReportedVersion(""); any != latest || of != reported {
				t.Fatalf("seed %d: the versions are %q and %q, want %q and %q", seed, any, of, latest, reported)
			}
			// Memory follows what is there, or is known to be.
			if n := len(s.byHand.keys); n > s.Len()+len(told) {
				t.Fatalf("seed %d: %d keys remembered, %d held and %d known", seed, n, s.Len(), len(told))
			}
		}
	}
}
