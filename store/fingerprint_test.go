package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

// sameText are keys that are all written alike.
var sameText = []store.Key{
	{Name: "a/b/c/d"},
	{Namespace: "a", Name: "b/c/d"},
	{Namespace: "a/b", Name: "c/d"},
	{Namespace: "a/b/c", Name: "d"},
}

func TestKeysThatAreWrittenAlikeAreKeysOfTheirOwn(t *testing.T) {
	for name, opt := range map[string]func(*store.Options[*item]){"read": func(*store.Options[*item]) {}, "remembered": remembering} {
		s := newStore(t, opt)
		held := map[store.Key]*item{}
		verify := func() {
			t.Helper()
			for _, key := range sameText {
				if key.String() != "a/b/c/d" {
					t.Fatalf("%#v is written %s", key, key)
				}
				if got, ok := s.Get(key); got != held[key] || ok != (held[key] != nil) {
					t.Errorf("%s: %#v is %v, want %v", name, key, got, held[key])
				}
			}
			// Of these the string means the one whose namespace ends at its
			// first slash.
			want := held[sameText[1]]
			if got, ok := s.GetString("a/b/c/d"); got != want || ok != (want != nil) {
				t.Errorf("%s: the string is %v, want %v", name, got, want)
			}
			check(t, s)
		}
		for _, key := range sameText {
			held[key] = &item{id: itemID(key)}
			put(t, s, held[key])
			verify()
		}
		for _, key := range sameText {
			s.Delete(key)
			delete(held, key)
			verify()
		}
	}
}

func TestAStringFindsItsKeyWhateverItsLength(t *testing.T) {
	for name, opt := range map[string]func(*store.Options[*item]){"read": func(*store.Options[*item]) {}, "remembered": remembering} {
		s := newStore(t, opt)
		var keys []store.Key
		for _, namespace := range []int{0, 1, 31, 63, 126, 127, 128, 129, 300} {
			for _, n := range []int{1, 2, 63, 64, 65, 126, 127, 128, 129, 253, 600} {
				keys = append(keys, store.Key{Namespace: strings.Repeat("s", namespace), Name: strings.Repeat("n", n)})
			}
		}
		for _, key := range keys {
			put(t, s, &item{id: itemID(key)})
		}
		for _, key := range keys {
			for range 12 { // the later ones of a version that is taken
				if got, _ := s.GetString(key.String()); got == nil || store.Key(got.id) != key {
					t.Fatalf("%s: %d and %d bytes: %v", name, len(key.Namespace), len(key.Name), got)
				}
			}
			if _, ok := s.GetString(key.String() + "x"); ok && !slices.Contains(keys, store.ParseKey(key.String()+"x")) {
				t.Fatalf("%s: a string that is too long is found", name)
			}
		}
	}
}

// TestEveryStringHasAKeyOfItsOwn has ParseKey lose nothing.
func TestEveryStringHasAKeyOfItsOwn(t *testing.T) {
	for s, want := range map[string]store.Key{
		"":       {},
		"a":      {Name: "a"},
		"/":      {Name: "/"},
		"a/":     {Namespace: "a"},
		"/a":     {Name: "/a"},
		"/a/b":   {Name: "/a/b"},
		"a/b":    {Namespace: "a", Name: "b"},
		"a/b/c":  {Namespace: "a", Name: "b/c"},
		"a//b":   {Namespace: "a", Name: "/b"},
		"a/b/":   {Namespace: "a", Name: "b/"},
		"\xff/x": {Namespace: "\xff", Name: "x"},
	} {
		if got := store.ParseKey(s); got != want || got.String() != s {
			t.Errorf("%q is %#v, written %q; want %#v", s, got, got, want)
		}
	}
}
