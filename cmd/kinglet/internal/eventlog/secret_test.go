package eventlog

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// A secretMaker makes Secrets, and keeps each text that must not be shown.
type secretMaker struct {
	r      *rand.Rand
	hidden []string
}

func (m *secretMaker) text() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, 8+m.r.IntN(60))
	for k := range b {
		b[k] = letters[m.r.IntN(len(letters))]
	}
	encoded := base64.StdEncoding.EncodeToString(b)
	m.hidden = append(m.hidden, string(b), encoded)
	if m.r.IntN(2) == 0 {
		return encoded
	}
	return string(b)
}

// data returns a map of values, or something that no server has: a value, a list, or a
// deeper map.
func (m *secretMaker) data() any {
	out := map[string]any{}
	for k := range m.r.IntN(5) {
		out[[]string{"k", "tls.key", "kind", "status", "type"}[k]] = m.text()
	}
	switch m.r.IntN(12) {
	case 0:
		return m.text()
	case 1:
		return []any{m.text(), map[string]any{"name": m.text()}}
	case 2:
		out["name"] = map[string]any{m.text(): m.text()}
	case 3:
		return nil
	}
	return out
}

func (m *secretMaker) secret() *unstructured.Unstructured {
	metadata := map[string]any{"name": "db", "namespace": "shop"}
	obj := map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata}
	for _, name := range []string{"data", "stringData", "status", "spec", "message"} {
		if m.r.IntN(2) == 0 {
			obj[name] = m.data()
		}
	}
	applied, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	if m.r.IntN(2) == 0 {
		annotations := map[string]any{}
		for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", "example.com/applied", "x"} {
			switch m.r.IntN(3) {
			case 0:
				annotations[name] = string(applied)
			case 1:
				annotations[name] = base64.StdEncoding.EncodeToString(applied)
			}
		}
		metadata["annotations"] = annotations
	}
	if m.r.IntN(2) == 0 {
		metadata["managedFields"] = []any{map[string]any{"manager": "x", "fieldsV1": map[string]any{"v:" + m.text(): map[string]any{}}}}
	}
	return &unstructured.Unstructured{Object: obj}
}

// runs are the parts of texts that must not be shown, of a length that does not occur by
// chance.
const runLength = 7

func TestNothingOfASecretIsShownWhateverChanges(t *testing.T) {
	m := &secretMaker{r: rand.New(rand.NewPCG(testkit.Seed(t), 3))}
	for n := range 300 {
		m.hidden = nil
		before, after := m.secret(), m.secret()
		if n%3 == 0 { // a change within
			after = before.DeepCopy()
			after.Object[[]string{"data", "stringData", "spec", "else"}[m.r.IntN(4)]] = m.data()
		}
		if n%7 == 0 {
			delete(before.Object, "metadata") // so that all of it is one change
		}
		was, _ := json.Marshal(before)
		var shown strings.Builder
		for _, wide := range []bool{false, true} {
			for _, width := range []int{0, 40, 80, 200, 10_000} {
				lines := NewLines(LinesOptions{Wide: wide, Width: func() int { return width }})
				for _, kind := range []store.ChangeType{store.Added, store.Updated, store.Deleted} {
					e := Event{Name: "secrets", Resource: "secrets", Secret: true}
					e.Type, e.Key, e.Old, e.New, e.FinalStateUnknown = kind, store.Key{Namespace: "shop", Name: "db"}, before, after, n%2 == 0
					shown.Write(lines.Append(nil, e))
				}
			}
		}
		if is, _ := json.Marshal(before); string(is) != string(was) {
			t.Fatal("the object itself was modified")
		}
		for _, text := range m.hidden {
			for k := range len(text) - runLength {
				if run := text[k : k+runLength]; strings.Contains(shown.String(), run) {
					t.Fatalf("%q of %q is shown:\n%s", run, text, shown.String())
				}
			}
		}
	}
}

func TestKeysOfASecretThatChangeAreNamed(t *testing.T) {
	of := func(text string) map[string]any { return withoutSecrets(object(t, text)) }
	before := of(`{kind: Secret, data: {password: b2xk, token: eA==}}`)
	after := of(`{kind: Secret, data: {password: bmV3, more: eQ==}, metadata: {labels: {a: b}, annotations: {kubectl.kubernetes.io/last-applied-configuration: bmV3}}}`)
	got := summarize(Compare(before, after), limits{value: maxWideValue})
	want := "data.more added, data.password changed, data.token removed, metadata +{annotations: {kubectl.kubernetes.io/last-applied-configuration: (hidden)}, labels: {a: b}}"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if changes := Compare(before, of(`{kind: Secret, data: {password: b2xk, token: eA==}}`)); len(changes) != 0 {
		t.Errorf("what is equal has changed: %v", changes)
	}
}
