package history

import (
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

func byName(all ...*corev1.ConfigMap) Objects {
	out := Objects{}
	for _, c := range all {
		out[KeyOf(c)] = c
	}
	return out
}

func TestCallsThatAreNoLegalHistoryAreNamed(t *testing.T) {
	v1, v2, other := configMap("a", "1", "1", ""), configMap("a", "1", "2", ""), configMap("a", "9", "3", "")
	copied := v1.DeepCopy()
	for _, c := range []struct {
		what string
		tell func(*History)
		says string
	}{
		{"legal", func(h *History) { h.added(v1); h.updated(v1, v2); h.deleted(KeyOf(v2), v2); h.added(other) }, ""},
		{"a resync", func(h *History) { h.added(v1); h.updated(v1, v1) }, ""},
		{"added twice", func(h *History) { h.added(v1); h.added(v2) }, "added ns/a (1@2), which it had"},
		{"updated first", func(h *History) { h.updated(v1, v2) }, "updated ns/a to 1@2, which it did not have"},
		{"deleted first", func(h *History) { h.deleted(KeyOf(v1), nil) }, "deleted ns/a, which it did not have"},
		{"deleted after another", func(h *History) { h.added(v1); h.deleted(KeyOf(v1), v2) }, "deleted ns/a after 1@2, last told 1@1"},
		{"backwards", func(h *History) { h.added(v2); h.updated(v2, v1) }, "updated ns/a backwards, 1@2 to 1@1"},
		{"into another", func(h *History) { h.added(v1); h.updated(v1, other) }, "updated ns/a from 1@1 to 9@3"},
		{"from what it never had", func(h *History) { h.added(v1); h.updated(copied, v2) }, "updated ns/a from 1@1, last told 1@1"},
	} {
		h := New("it")
		c.tell(h)
		if _, wrong := h.Compare(nil); c.says == "" && len(wrong) > 0 || c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], "it was told: "+c.says)) {
			t.Errorf("%s: %q", c.what, wrong)
		}
	}
}

func TestAHistoryHasTheVeryObjectsOfItsStore(t *testing.T) {
	a, b := configMap("a", "1", "1", ""), configMap("b", "2", "1", "")
	h := New("it")
	h.added(a)
	h.added(b)
	for _, c := range []struct {
		held Objects
		want []string
	}{
		{byName(a, b), nil},
		{byName(a), []string{"it was not told that ns/b is gone"}},
		{byName(a, b.DeepCopy()), []string{"it was told of ns/b at 2@1, the store has 2@1"}},
		{byName(a, b, configMap("c", "3", "1", "")), []string{"it was not told of ns/c"}},
	} {
		if differ, _ := h.Compare(c.held); !slices.Equal(differ, c.want) {
			t.Errorf("got %q, want %q", differ, c.want)
		}
	}
}
