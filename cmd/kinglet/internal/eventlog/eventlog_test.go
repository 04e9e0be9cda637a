package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/golden"
	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = golden.Rewrite()

func pod(version, phase string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "web-7d4b9c6f5-abcde", "namespace": "shop", "resourceVersion": version, "generation": int64(len(phase))},
		"spec":     map[string]any{"nodeName": "node-1"},
		"status":   map[string]any{"phase": phase, "podIP": "10.0.0.3"},
	}}
}

// events are one of each kind.
func events() []Event {
	at := time.Date(2026, 7, 14, 9, 5, 3, 42_000_000, time.UTC)
	key := store.Key{Namespace: "shop", Name: "web-7d4b9c6f5-abcde"}
	node := store.Key{Name: "node-1"}
	secret := func(v string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"password": v}}}
	}
	change := store.Change[*unstructured.Unstructured]{Key: key}
	one := func(name, resource string, change store.Change[*unstructured.Unstructured]) Event {
		return Event{Time: at, Name: name, Resource: resource, Change: change}
	}
	added, modified, touched, deleted, missed, relisted, other, hidden, initial := change, change, change, change, change, change, change, change, change
	added.Type, added.New, added.ResourceVersion = store.Added, pod("101", "Pending"), "101"
	modified.Type, modified.Old, modified.New, modified.ResourceVersion = store.Updated, pod("101", "Pending"), pod("102", "Running"), "102"
	touched.Type, touched.Old, touched.New, touched.ResourceVersion = store.Updated, pod("102", "Running"), pod("103", "Running"), "103"
	deleted.Type, deleted.Old, deleted.ResourceVersion = store.Deleted, pod("104", "Succeeded"), "104"
	missed.Type, missed.Old, missed.ResourceVersion, missed.FinalStateUnknown, missed.Reason = store.Deleted, pod("104", "Running"), "200", true, store.Relist
	relisted.Type, relisted.New, relisted.ResourceVersion, relisted.Reason = store.Added, pod("150", "Running"), "200", store.Relist
	other.Type, other.Key, other.ResourceVersion = store.Updated, node, "105"
	other.Old = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	other.New = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"unschedulable": true}}}
	hidden.Type, hidden.Key, hidden.ResourceVersion = store.Updated, store.Key{Namespace: "shop", Name: "db"}, "106"
	hidden.Old, hidden.New = secret("b2xk"), secret("bmV3")
	initial.Type, initial.New, initial.ResourceVersion, initial.Reason = store.Added, pod("100", "Running"), "200", store.Initial
	hiddenEvent := one("secrets", "secrets", hidden)
	hiddenEvent.Secret = true
	return []Event{
		one("pods", "pods", initial), one("pods", "pods", added), one("pods", "pods", modified), one("pods", "pods", touched),
		one("nodes", "nodes", other), hiddenEvent, one("pods", "pods", deleted), one("pods", "pods", missed), one("deployments", "deployments.apps", relisted),
	}
}

func lines(opts LinesOptions) string {
	l := NewLines(opts)
	l.Widen(store.Key{Namespace: "shop", Name: "web-7d4b9c6f5-abcde"})
	var buf []byte
	for _, e := range events() {
		buf = l.Append(buf, e)
	}
	return string(buf)
}

func TestLinesLookAsReviewed(t *testing.T) {
	names := []string{"pods", "nodes", "secrets", "deployments"}
	for _, width := range []int{0, 120, 80, 60, 40} {
		t.Run(fmt.Sprint("width ", width), func(t *testing.T) {
			golden.Check(t, *rewrite, fmt.Sprintf("lines-%d.txt", width),
				lines(LinesOptions{Width: func() int { return width }, Resources: names}))
		})
	}
	t.Run("wide", func(t *testing.T) {
		golden.Check(t, *rewrite, "lines-wide.txt", lines(LinesOptions{Wide: true, Resources: names}))
	})
	t.Run("coloured", func(t *testing.T) {
		got := lines(LinesOptions{Color: true, Resources: names})
		golden.Check(t, *rewrite, "lines-coloured.txt", strings.ReplaceAll(got, "\x1b", "ESC"))
	})
}

func TestALineIsOneLineAndNoWiderThanTheTerminal(t *testing.T) {
	for width := 1; width < 200; width++ {
		text := lines(LinesOptions{Width: func() int { return width }, Resources: []string{"deployments"}})
		all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(all) != len(events()) {
			t.Fatalf("width %d: %d lines for %d events", width, len(all), len(events()))
		}
		for _, line := range all {
			// The type of the event is never cut.
			if w := runewidth.StringWidth(line); w > max(width, len("MODIFIED")+1) {
				t.Fatalf("width %d: a line of %d: %q", width, w, line)
			}
		}
	}
}

func TestColumnsStayInPlaceOnceTheyAreWide(t *testing.T) {
	l := NewLines(LinesOptions{})
	e := events()[4] // a node, with a short name
	l.Append(nil, e)
	long := e
	long.Key = store.Key{Namespace: "a-long-namespace", Name: "and-a-long-name"}
	first := string(l.Append(nil, long))
	second := string(l.Append(nil, e))
	if strings.Index(first, "spec.") != strings.Index(second, "spec.") {
		t.Errorf("not aligned:\n%s%s", first, second)
	}
	huge := e
	huge.Key = store.Key{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("x", 200)}
	l.Append(nil, huge)
	if third := string(l.Append(nil, e)); strings.Index(third, "spec.") > maxNameColumn+60 {
		t.Errorf("one huge name pushes all lines:\n%s", third)
	}
}

func TestADocumentIsOneLineOfJSONWithTheWholeObject(t *testing.T) {
	var buf []byte
	var err error
	for _, e := range events() {
		if buf, err = AppendJSON(buf, e, true); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, *rewrite, "documents.json", string(buf))

	documents := bytes.Split(bytes.TrimSuffix(buf, []byte("\n")), []byte("\n"))
	for i, text := range documents {
		var d map[string]any
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if d["object"] == nil || d["type"] == "" || d["key"] == "" {
			t.Errorf("line %d: incomplete: %s", i, text)
		}
	}
}

// Whoever may create an object of a kind that keeps unknown fields chooses their names.
func TestNoObjectCanSteerTheTerminal(t *testing.T) {
	const steer = "a\x1b[2J\u009b2J\nb\u202e\xff"
	with := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"labels": map[string]any{steer: value}},
			"spec":     map[string]any{steer: map[string]any{steer: value}, "list": []any{map[string]any{"name": steer, steer: value}}},
			"status":   map[string]any{"phase": steer, steer: value},
		}}
	}
	for _, wide := range []bool{false, true} {
		for _, width := range []int{0, 30, 31, 32, 33, 34, 35, 36, 60, 120, 500} {
			l := NewLines(LinesOptions{Wide: wide, Width: func() int { return width }})
			for _, kind := range []store.ChangeType{store.Added, store.Updated, store.Deleted} {
				e := Event{Name: "widgets", Resource: "widgets"}
				e.Type, e.Key, e.ResourceVersion = kind, store.Key{Namespace: steer, Name: steer}, steer
				e.Old, e.New = with(steer), with("other")
				line := strings.TrimSuffix(string(l.Append(nil, e)), "\n")
				if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 || !utf8.ValidString(line) {
					t.Errorf("wide %v, width %d, %v: %q", wide, width, kind, line)
				}
			}
		}
	}
}
