package command

import (
	"bytes"
	"strings"
	"testing"
)

func TestFieldsArePrintedAsAKeep(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"a program", []string{"fields", "../fieldreads/testdata/program"}, exitOK, []string{
			"// k8s.io/api/core/v1.Pod\nKeep: []string{\n\t\"metadata.annotations\",\n\t\"spec.containers.image\",\n",
			"// k8s.io/api/networking/v1.Ingress\n// passed on at program.go:58: encoding/json.Marshal\nKeep: []string{\n",
		}},
		{"nothing", []string{"fields", "../golden"}, exitOK, []string{"no field of a Kubernetes object is read or set"}},
		{"no packages", []string{"fields"}, exitUsage, []string{"kinglet fields ./..."}},
		{"an empty pattern", []string{"fields", ""}, exitUsage, []string{"kinglet fields ./..."}},
		{"what is not looked at", []string{"fields", "../fieldreads/testdata/notfollowed"}, exitOK, []string{
			"// not looked at, because of build constraints: tagged.go\n// unstructured objects are not followed: notfollowed.go:12\n// an object of any kind is passed on at notfollowed.go:17: reflect.DeepEqual\n",
		}},
		{"no such package", []string{"fields", "./none"}, exitFailed, []string{"error: stat ", "none"}},
	} {
		var out bytes.Buffer
		if code := Run(t.Context(), test.args, Streams{Out: &out, Err: &out}); code != test.code {
			t.Errorf("%s: exit code %d, want %d", test.name, code, test.code)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: printed\n%s\nwithout\n%s", test.name, out.String(), want)
			}
		}
	}
}
