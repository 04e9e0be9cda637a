package release

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureNamesWhatThereIs: the folders of its table, and the functions that
// an event goes through.
func TestArchitectureNamesWhatThereIs(t *testing.T) {
	t.Chdir("../..") // to the root of the repository
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	folders := 0
	for _, row := range rowsOf(t, string(text), "## Where things are") {
		for _, m := range quoted.FindAllStringSubmatch(row[0], -1) {
			if m[1] == "*.go" {
				continue
			}
			folders++
			if _, err := os.Stat(strings.TrimSuffix(m[1], "/")); err != nil {
				t.Errorf("the table of folders: %v", err)
			}
		}
	}
	declared := declaredNames(t)
	steps := 0
	for _, row := range rowsOf(t, string(text), "## The life of an event") {
		for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
			steps++
			if name := m[1][strings.LastIndex(m[1], ".")+1:]; !declared[name] {
				t.Errorf("the life of an event: no function %s", m[1])
			}
		}
	}
	if folders < 20 || steps < 20 {
		t.Errorf("%d folders and %d functions: the tables are not where they were", folders, steps)
	}
}

// TestContributingNamesWhatThereIs: the files that its table says to begin with, and the
// names in them.
func TestContributingNamesWhatThereIs(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := rowsOf(t, string(text), "## Where things are")
	if len(rows) < 12 {
		t.Errorf("the table has %d rows: it is not where it was", len(rows))
	}
	for _, row := range rows {
		var folder, read string
		var names []string
		for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
			path := m[1]
			if !strings.ContainsAny(path, "./") && !exists(filepath.Join(folder, path)) {
				names = append(names, path)
				continue
			}
			if !strings.Contains(path, "/") {
				path = filepath.Join(folder, path) // beside the one before
			}
			switch info, err := os.Stat(path); {
			case err != nil:
				t.Errorf("%s: %v", row[0], err)
			case info.IsDir():
				folder = path
			default:
				folder = filepath.Dir(path)
				source, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				read += string(source)
			}
		}
		for _, name := range names {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(read) {
				t.Errorf("%s: no %s in the files of its row", row[0], name)
			}
		}
	}
}

// rowsOf returns the rows of the first table below a heading.
func rowsOf(t *testing.T, text, heading string) (rows [][]string) {
	_, below, found := strings.Cut(text, heading+"\n")
	if !found {
		t.Fatalf("there is no %q", heading)
	}
	for line := range strings.Lines(below) {
		switch {
		case strings.HasPrefix(line, "| --- "):
			rows = nil // what came before was the table's head
		case strings.HasPrefix(line, "|"):
			rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"))
		case len(rows) > 0:
			return rows
		}
	}
	return rows
}

// declaredNames are those of the functions and methods in this module, methods of
// interfaces included.
func declaredNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|\t)(\w+)[\[(]`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && exists(filepath.Join(path, "go.mod")) || path == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllStringSubmatch(string(source), -1) {
			names[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
