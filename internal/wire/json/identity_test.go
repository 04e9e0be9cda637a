package json

import "testing"

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
