package json

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestIdentityIsWhatMetadataSays(t *testing.T) {
	r := newRand(t)
	f := newFiller(r)
	read := 0
	for _, k := range compileKinds() {
		if _, ok := k.typ.FieldByName("ObjectMeta"); !ok {
			continue
		}
		raw := encode(t, k.fresh(f))
		var want struct {
			Metadata struct{ Namespace, Name, UID, ResourceVersion string }
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		id, ok := IdentityOf(raw)
		if m := want.Metadata; ok && (string(id.Namespace) != m.Namespace || string(id.Name) != m.Name || string(id.UID) != m.UID || string(id.ResourceVersion) != m.ResourceVersion) {
			t.Fatalf("%q, want %q", id, m)
		}
		if ok {
			read++
		} else if metadata := raw[strings.Index(string(raw), `"metadata"`):]; !strings.Contains(string(metadata), `\`) {
			t.Fatalf("no identity in %s", raw)
		}
		for i := range min(len(raw), 200) {
			if id, ok := IdentityOf(raw[:i:i]); ok && (id.Name == nil || id.UID == nil) {
				t.Fatalf("%d bytes are enough: %s", i, raw[:i])
			}
		}
	}
	if read == 0 {
		t.Error("none was read")
	}
}

func TestIdentityIsNotReadFromWhatIsUnusual(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"metadata":{"name":"a"}}`: true,
		` { "spec" : [1,{"metadata":{}}] , "metadata" : { "labels" : {"name":"x"} , "name" : "a" } } `: true,
		`{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1",garbage`:              true,
		`{"metadata":{}}`:            true,
		`{"metadata":{"name":"\n"}}`: false,
		`{"metadata":{"name":1}}`:    false,
		`{"metadata":{"name":null}}`: false,
		`{"metadata":null}`:          false,
		`{"metadata":{"name":"a"`:    false,
		`{"metadata"`:                false,
		`{}`:                         false,
		`[]`:                         false,
		``:                           false,
		`{"spec":{}}`:                false,
	} {
		if id, got := IdentityOf([]byte(raw)); got != ok {
			t.Errorf("%s: %v, %q", raw, got, id)
		}
	}
}
