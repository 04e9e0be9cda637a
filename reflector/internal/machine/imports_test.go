package machine

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTheMachineImportsNothingButTheOrderOfVersions keeps it pure: what it
// cannot import it cannot use.
func TestTheMachineImportsNothingButTheOrderOfVersions(t *testing.T) {
	allowed := map[string]string{
		".": "github.com/kinglet-go/kinglet/reflector/resourceversion",
		filepath.Join("..", "..", "resourceversion"): "",
	}
	for dir, only := range allowed {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				if path, _ := strconv.Unquote(spec.Path.Value); path != only {
					t.Errorf("%s imports %q", name, path)
				}
			}
		}
		if files == 0 {
			t.Errorf("no files in %s", dir)
		}
	}
}
