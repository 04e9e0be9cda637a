package kinglet_test

import (
	"os"
	"strings"
	"testing"
)

func TestReadmeExamplesAreTheCompiledOnes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"example_test.go", "controller/example_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(source), "\t// README begin\n")
		code, _, found := strings.Cut(rest, "\t// README end\n")
		if !found {
			t.Fatalf("the marks are gone from %s", file)
		}
		var lines []string
		for line := range strings.Lines(code) {
			lines = append(lines, strings.TrimPrefix(line, "\t"))
		}
		if !strings.Contains(string(readme), "```go\n"+strings.Join(lines, "")+"```") {
			t.Errorf("README.md does not have the example of %s as it is compiled:\n%s", file, strings.Join(lines, ""))
		}
	}
}
