package cache

import (
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

func TestEveryStringHasAKeyOfItsOwn(t *testing.T) {
	seen := map[store.Key]string{}
	for _, key := range []string{"", "a", "/", "a/", "/a", "a/b", "a/b/c", "/a/b", "//", "a//b", "a/b/", "b"} {
		k := storeKey(key)
		if back := keyString(k); back != key {
			t.Errorf("%q became %#v and then %q", key, k, back)
		}
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q have the same key %#v", key, other, k)
		}
		seen[k] = key
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("default/web")
	f.Add("/a")
	f.Fuzz(func(t *testing.T, key string) {
		if back := keyString(storeKey(key)); back != key {
			t.Errorf("%q became %q", key, back)
		}
	})
}
