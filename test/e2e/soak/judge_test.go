package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/test/internal/history"
)

func configMap(name, uid, rv, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: rv},
		Data:       map[string]string{"text": text},
	}
}

func byName(all ...*corev1.ConfigMap) history.Objects {
	out := history.Objects{}
	for _, c := range all {
		out[history.KeyOf(c)] = c
	}
	return out
}

func TestWhateverDiffersFromTheServerIsNamed(t *testing.T) {
	server := byName(configMap("a", "1", "5", "x"), configMap("b", "2", "6", "x"))
	for _, c := range []struct {
		what string
		got  history.Objects
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

func TestWhatIsLeftAtTheEndIsNamed(t *testing.T) {
	before := gauge{goroutines: 10, heap: 5 << 20, files: 20}
	for _, c := range []struct {
		after gauge
		says  string
	}{
		{before, ""},
		{gauge{goroutines: 14, heap: 13 << 20, files: 24}, ""},
		{gauge{goroutines: 15, heap: 5 << 20, files: 20}, "15 goroutines, 10 before"},
		{gauge{goroutines: 10, heap: 13<<20 + 1, files: 20}, "13631489 bytes of live heap, 5242880 before"},
		{gauge{goroutines: 10, heap: 5 << 20, files: 25}, "25 open files, 20 before"},
	} {
		if err := c.after.exceeds(before, moreHeap); c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%v: %v", c.after, err)
		}
	}
}

func TestGrowthFromCheckpointToCheckpointIsNoticed(t *testing.T) {
	grow := func(by int) (all []checkpoint) {
		for i := range 9 {
			all = append(all, checkpoint{gauge: gauge{goroutines: 50 + by*i, heap: 10 << 20, files: 30}})
		}
		return all
	}
	if err := flat(grow(0)); err != nil {
		t.Error(err)
	}
	// Medians of thirds: 60 and 120.
	if err := flat(grow(10)); err == nil || err.Error() != "120 goroutines at the last checkpoints, 60 at the first" {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
