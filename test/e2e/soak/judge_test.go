package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func configMap(name, uid, rv, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: rv},
		Data:       map[string]string{"text": text},
	}
}

func byName(all ...*corev1.ConfigMap) objects {
	out := objects{}
	for _, c := range all {
		out[nameOf(c)] = c
	}
	return out
}

func TestWhateverDiffersFromTheServerIsNamed(t *testing.T) {
	server := byName(configMap("a", "1", "5", "x"), configMap("b", "2", "6", "x"))
	for _, c := range []struct {
		what string
		got  objects
		says string // nothing if empty
	}{
		{"equal", byName(configMap("a", "1", "5", "x"), configMap("b", "2", "6", "x")), ""},
		{"missing", byName(configMap("a", "1", "5", "x")), "ns/b (2@6) is missing"},
		{"too many", byName(configMap("a", "1", "5", "x"), configMap("b", "2", "6", "x"), configMap("c", "3", "1", "x")), "ns/c (3@1) is not on the server"},
		{"an older version", byName(configMap("a", "1", "4", "x"), configMap("b", "2", "6", "x")), "ns/a is 1@4, the server has 1@5"},
		{"another object", byName(configMap("a", "9", "5", "x"), configMap("b", "2", "6", "x")), "ns/a is 9@5, the server has 1@5"},
		{"another content", byName(configMap("a", "1", "5", "y"), configMap("b", "2", "6", "x")), "ns/a at 1@5 has another content"},
	} {
		differ := differences(server, c.got)
		if c.says == "" && len(differ) > 0 || c.says != "" && (len(differ) != 1 || !strings.HasPrefix(differ[0], c.says)) {
			t.Errorf("%s: %q", c.what, differ)
		}
	}
}

func TestALedgerBlamesHistoriesThatAreNotLegal(t *testing.T) {
	v1, v2, other := configMap("a", "1", "1", ""), configMap("a", "1", "2", ""), configMap("a", "9", "3", "")
	copied := v1.DeepCopy()
	for _, c := range []struct {
		what string
		tell func(*ledger)
		says string
	}{
		{"legal", func(l *ledger) { l.added(v1); l.updated(v1, v2); l.deleted(nameOf(v2)); l.added(other) }, ""},
		{"a resync", func(l *ledger) { l.added(v1); l.updated(v1, v1) }, ""},
		{"added twice", func(l *ledger) { l.added(v1); l.added(v2) }, "added ns/a (1@2), which it had"},
		{"updated first", func(l *ledger) { l.updated(v1, v2) }, "updated ns/a to 1@2, which it did not have"},
		{"deleted first", func(l *ledger) { l.deleted(nameOf(v1)) }, "deleted ns/a, which it did not have"},
		{"backwards", func(l *ledger) { l.added(v2); l.updated(v2, v1) }, "updated ns/a backwards, 1@2 to 1@1"},
		{"into another", func(l *ledger) { l.added(v1); l.updated(v1, other) }, "updated ns/a from 1@1 to 9@3"},
		{"from what it never had", func(l *ledger) { l.added(v1); l.updated(copied, v2) }, "updated ns/a from 1@1, last told 1@1"},
	} {
		l := newLedger("it")
		c.tell(l)
		if _, wrong := l.compare(nil); c.says == "" && len(wrong) > 0 || c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], "it was told: "+c.says)) {
			t.Errorf("%s: %q", c.what, wrong)
		}
	}
}

func TestALedgerMustHoldTheVeryObjectsOfItsStore(t *testing.T) {
	a, b := configMap("a", "1", "1", ""), configMap("b", "2", "1", "")
	l := newLedger("it")
	l.added(a)
	l.added(b)
	for _, c := range []struct {
		held objects
		want []string
	}{
		{byName(a, b), nil},
		{byName(a), []string{"it was not told that ns/b is gone"}},
		{byName(a, b.DeepCopy()), []string{"it was told of ns/b at 2@1, the store has 2@1"}},
		{byName(a, b, configMap("c", "3", "1", "")), []string{"it was not told of ns/c"}},
	} {
		if differ, _ := l.compare(c.held); !slices.Equal(differ, c.want) {
			t.Errorf("got %q, want %q", differ, c.want)
		}
	}
}

func TestWhatIsLeftAtTheEndIsNamed(t *testing.T) {
	before := gauge{Goroutines: 10, Heap: 5 << 20, Files: 20}
	for _, c := range []struct {
		after gauge
		says  string
	}{
		{before, ""},
		{gauge{Goroutines: 14, Heap: 9 << 20, Files: 24}, ""},
		{gauge{Goroutines: 15, Heap: 5 << 20, Files: 20}, "15 goroutines, 10 before"},
		{gauge{Goroutines: 10, Heap: 9<<20 + 1, Files: 20}, "9437185 bytes of live heap, 5242880 before"},
		{gauge{Goroutines: 10, Heap: 5 << 20, Files: 25}, "25 open files, 20 before"},
	} {
		if err := c.after.exceeds(before, moreHeap); c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%v: %v", c.after, err)
		}
	}
}

func TestGrowthFromCheckpointToCheckpointIsNoticed(t *testing.T) {
	grow := func(by int) *Figures {
		f := &Figures{}
		for i := range 9 {
			f.Checkpoints = append(f.Checkpoints, Checkpoint{Gauge: gauge{Goroutines: 50 + by*i, Heap: 10 << 20, Files: 30}})
		}
		return f
	}
	if err := grow(0).flat(); err != nil {
		t.Error(err)
	}
	// Medians of thirds: 60 and 120.
	if err := grow(10).flat(); err == nil || err.Error() != "120 goroutines at the last checkpoints, 60 at the first" {
		t.Error(err)
	}
}

func TestADeckDealsEachTroubleAsOftenAsItsWeightSays(t *testing.T) {
	d := &deck{random: rand.New(rand.NewPCG(1, 1)), all: []*trouble{{name: "a", weight: 1}, {name: "b", weight: 3}}}
	for range 5 {
		dealt := map[string]int{}
		for range 4 {
			dealt[d.deal().name]++
		}
		if dealt["a"] != 1 || dealt["b"] != 3 {
			t.Fatal(dealt)
		}
	}
}
