package release

import (
	"strings"
	"testing"
)

func TestThePageOnTestsQuotesTheCompiledOne(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../test/examples/unit/unit_test.go"), "// testing.md begin\n")
	code, _, found := strings.Cut(rest, "\n// testing.md end\n")
	if !found {
		t.Fatal("the marks are gone")
	}
	if !strings.Contains(read(t, "../../docs/testing.md"), "```go\n"+code+"```") {
		t.Errorf("docs/testing.md does not have the test as it is compiled:\n%s", code)
	}
}
