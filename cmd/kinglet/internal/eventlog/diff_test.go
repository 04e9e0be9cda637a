package eventlog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestASummaryNamesTheFieldsThatDiffer(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{
			"a scalar changed, another came, a third went",
			`{status: {phase: Pending}, spec: {replicas: 3, paused: true}}`,
			`{status: {phase: Running, podIP: 10.0.0.3}, spec: {replicas: 5}}`,
			`spec.replicas 3→5, status.phase Pending→Running, spec.paused -true, status.podIP +10.0.0.3`,
		},
		{
			"what differs in every version is left out",
			`{metadata: {resourceVersion: "1", managedFields: [{manager: a}], labels: {a: b}}}`,
			`{metadata: {resourceVersion: "2", managedFields: [{manager: b}], labels: {a: c}}}`,
			`metadata.labels.a b→c`,
		},
		{
			"conditions are known by their type, and shown by their status",
			`{status: {conditions: [{type: Ready, status: "False", lastTransitionTime: a}]}}`,
			`{status: {conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True", lastTransitionTime: b}]}}`,
			`status.conditions[Ready] False→True, status.conditions[PodScheduled] +True`,
		},
		{
			"times are shown if nothing else changed",
			`{status: {conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z"}]}}`,
			`{status: {conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-01-01T00:00:10Z"}]}}`,
			`status.conditions[Ready].lastHeartbeatTime 00:00:00Z→00:00:10Z`,
		},
		{
			"containers are known by their name",
			`{status: {containerStatuses: [{name: app, ready: false, restartCount: 0}, {name: log, ready: true}]}}`,
			`{status: {containerStatuses: [{name: log, ready: true}, {name: app, ready: true, restartCount: 1}]}}`,
			`status.containerStatuses[app].ready false→true, status.containerStatuses[app].restartCount 0→1`,
		},
		{
			"lists of plain values are sets",
			`{metadata: {finalizers: [a, b]}}`,
			`{metadata: {finalizers: [b, c]}}`,
			`metadata.finalizers -a, metadata.finalizers +c`,
		},
		{
			"a list in another order says so",
			`{spec: {args: [a, b]}}`,
			`{spec: {args: [b, a]}}`,
			`spec.args reordered`,
		},
		{
			"objects in another order say so",
			`{spec: {env: [{name: a, value: x}, {name: b}]}}`,
			`{spec: {env: [{name: b}, {name: a, value: x}]}}`,
			`spec.env reordered`,
		},
		{
			"another number of equal values is no other order",
			`{spec: {args: [a, a, b]}}`,
			`{spec: {args: [a, b, b]}}`,
			`spec.args [3 items]→[3 items]`,
		},
		{
			"an empty list where there was none is no other order",
			`{spec: {}}`,
			`{spec: {args: []}}`,
			`spec.args +[0 items]`,
		},
		{
			"a null in an element is no other order",
			`{spec: {env: [{name: a, value: null}]}}`,
			`{spec: {env: [{name: a}]}}`,
			`spec.env [{name: a, value: null}]→[{name: a}]`,
		},
		{
			"elements that nothing identifies are counted",
			`{spec: {rules: [{host: a}, {host: a}]}}`,
			`{spec: {rules: [{host: a}]}}`,
			`spec.rules [2 items]→[{host: a}]`,
		},
		{
			"keys that are no identifiers stand in brackets, values with spaces in quotes",
			`{metadata: {annotations: {example.com/note: one two}}}`,
			`{metadata: {annotations: {example.com/note: ""}}}`,
			`metadata.annotations[example.com/note] "one two"→""`,
		},
		{
			"small maps are shown, large ones counted",
			`{spec: {}}`,
			`{spec: {limits: {cpu: 1, memory: 2Gi}, template: {a: 1, b: 2, c: 3, d: 4}}}`,
			`spec.limits +{cpu: 1, memory: 2Gi}, spec.template +{4 fields}`,
		},
		{
			"elements with names that come all at once are told one by one",
			`{status: {}}`,
			`{status: {conditions: [{type: Ready, status: "False"}, {type: PodScheduled, status: "True"}]}}`,
			`status.conditions[PodScheduled] +True, status.conditions[Ready] +False`,
		},
		{
			"two times of one day are shown without the date",
			`{metadata: {deletionTimestamp: "2026-01-01T10:00:30Z"}}`,
			`{metadata: {deletionTimestamp: "2026-01-01T10:00:00Z"}}`,
			`metadata.deletionTimestamp 10:00:30Z→10:00:00Z`,
		},
		{
			"a value of another type",
			`{spec: {port: 80}}`,
			`{spec: {port: http}}`,
			`spec.port 80→http`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := summarize(Compare(object(t, c.before), object(t, c.after)), limits{value: maxValue})
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestASummaryKeepsToItsWidthAndCountsWhatIsLeftOut(t *testing.T) {
	before := map[string]any{"spec": map[string]any{}}
	after := map[string]any{"spec": map[string]any{}}
	for i := range 30 {
		before["spec"].(map[string]any)[fmt.Sprintf("field%02d", i)] = int64(i)
		after["spec"].(map[string]any)[fmt.Sprintf("field%02d", i)] = strings.Repeat("ä", i+1)
	}
	changes := Compare(before, after)
	for width := 1; width < 400; width++ {
		got := summarize(changes, limits{value: maxValue, width: width})
		if n := utf8.RuneCountInString(got); n > width {
			t.Fatalf("width %d: %d characters: %s", width, n, got)
		}
	}
	if got, want := summarize(changes, limits{value: maxValue, width: 50}), "spec.field00 0→ä, spec.field01 1→ää, +28 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALongPathGivesWayToTheValue(t *testing.T) {
	changes := Compare(
		object(t, `{spec: {template: {metadata: {labels: {example.com/revision: "5"}}}}}`),
		object(t, `{spec: {template: {metadata: {labels: {example.com/revision: "6"}}}}}`))
	if got, want := summarize(changes, limits{value: maxValue, width: 36}), "…labels[example.com/revision] 5→6"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBookkeepingIsShownWhenAskedFor(t *testing.T) {
	changes := Compare(
		object(t, `{metadata: {generation: 1}, spec: {replicas: 1}}`),
		object(t, `{metadata: {generation: 2}, spec: {replicas: 2}}`))
	if got, want := summarize(changes, limits{value: maxValue}), "spec.replicas 1→2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := summarize(changes, limits{value: maxValue, bookkeeping: true}), "spec.replicas 1→2, metadata.generation 1→2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHighlightsTellWhatThereIsToKnowAtAGlance(t *testing.T) {
	for _, c := range []struct{ name, obj, want string }{
		{
			"a pod",
			`{metadata: {ownerReferences: [{kind: ReplicaSet, name: web-1, controller: true}]}, spec: {nodeName: n1}, status: {phase: Running, podIP: 10.0.0.1, conditions: [{type: Ready, status: "True"}, {type: Initialized, status: "True"}]}}`,
			`phase Running, nodeName n1, podIP 10.0.0.1, Ready True, owner ReplicaSet/web-1`,
		},
		{"a deployment", `{spec: {replicas: 3}, status: {readyReplicas: 2}}`, `replicas 3, readyReplicas 2`},
		{"an event", `{type: Warning, reason: BackOff, message: Back-off restarting}`, `type Warning, reason BackOff, message "Back-off restarting"`},
		{"something else", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1, b: 2, c: 3, d: 4}}`, `data {4 fields}`},
		{"nothing", `{}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := highlights(object(t, c.obj), limits{value: maxValue}); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// randomValue makes small objects of the shapes that Kubernetes uses.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case depth > 0 && n < 3:
		m := map[string]any{}
		for range r.IntN(4) {
			m[string(rune('a'+r.IntN(4)))] = randomValue(r, depth-1)
		}
		return m
	case depth > 0 && n == 3:
		var l []any
		for i := range r.IntN(4) {
			l = append(l, map[string]any{"name": fmt.Sprint("n", i*r.IntN(3)), "v": randomValue(r, depth-1)})
		}
		return l
	case depth > 0 && n == 4:
		var l []any
		for range r.IntN(4) {
			l = append(l, int64(r.IntN(3)))
		}
		return l
	case n == 5:
		return int64(r.IntN(3))
	case n == 6:
		return r.IntN(2) == 0
	}
	return string(rune('x' + r.IntN(3)))
}

// The naive twin compares whole objects as JSON.
func TestThereAreChangesExactlyIfTheObjectsDiffer(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for range 20_000 {
		a := map[string]any{"spec": randomValue(r, 3)}
		b := map[string]any{"spec": randomValue(r, 3)}
		textA, textB := encode(a), encode(b)
		changes := Compare(a, b)
		if (len(changes) == 0) != (textA == textB) {
			t.Fatalf("%d changes between\n%s and\n%s", len(changes), textA, textB)
		}
		if len(Compare(a, a)) != 0 {
			t.Fatalf("%s differs from itself", textA)
		}
		if encode(a) != textA || encode(b) != textB {
			t.Fatal("Compare modified an object")
		}
		back := Compare(b, a)
		for i := range back {
			back[i].Old, back[i].New = back[i].New, back[i].Old
		}
		for _, all := range [][]Change{changes, back} {
			slices.SortFunc(all, func(a, b Change) int { return strings.Compare(encode(a), encode(b)) })
		}
		if diff := cmp.Diff(changes, back, cmp.AllowUnexported(Change{})); diff != "" {
			t.Fatalf("the way back differs:\n%s", diff)
		}
		summarize(changes, limits{value: maxValue, width: 1 + r.IntN(100)})
		highlights(a, limits{value: maxValue})
	}
}

func TestObjectsOfUnexpectedShapeAreNoTrouble(t *testing.T) {
	for _, text := range []string{
		`{metadata: 3, status: [1], spec: null}`,
		`{status: {conditions: {a: b}}, metadata: {ownerReferences: [1, {controller: yes}]}}`,
		`{status: {conditions: [1, null, {type: 3}]}}`,
	} {
		obj := object(t, text)
		highlights(obj, limits{value: maxValue})
		summarize(Compare(obj, map[string]any{}), limits{value: maxValue})
		summarize(Compare(nil, obj), limits{value: maxValue})
	}
}
