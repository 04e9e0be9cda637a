package kinglet_test

import (
	"os"
	"strings"
	"testing"
)

func TestReadmeExampleIsTheCompiledOne(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "\t// README begin\n")
	code, _, found := strings.Cut(rest, "\t// README end\n")
	if !found {
		t.Fatal("the marks are gone from example_test.go")
	}
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.TrimPrefix(line, "\t"))
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+strings.Join(lines, "")+"```") {
		t.Errorf("README.md does not have the example as it is compiled:\n%s", strings.Join(lines, ""))
	}
}
