package main

import (
	"go/importer"
	"maps"
	"strings"
	"testing"
)

func cutOf(t *testing.T, files ...string) *cutting {
	t.Helper()
	c := &cutting{gone: map[string]string{}}
	for i, text := range files {
		c.files = append(c.files, &cutFile{path: string(rune('a'+i)) + "_test.go", text: []byte(text)})
	}
	if err := c.parse(); err != nil {
		t.Fatal(err)
	}
	if err := c.cutWhatDoesNotCompile(importer.Default()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatDoesNotCompileIsCutWithAllThatNeedsIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		gone map[string]string
	}{
		"nothing": {"func a() {}\n", map[string]string{}},
		"a chain": {
			"func a() { b() }\nfunc b() { c() }\nfunc c() { lost() }\nfunc d() {}\n",
			map[string]string{"a": "lost", "b": "lost", "c": "lost"},
		},
		"an unexported field": {
			"import \"strings\"\nfunc a() { var b strings.Builder; _ = b.buf }\n",
			map[string]string{"a": "buf"},
		},
		"a type with its methods, if one of them is": {
			"type a struct{}\nfunc (a) one() { lost() }\nfunc (*a) two() {}\nfunc b() { a{}.one() }\nvar c = 1\n",
			map[string]string{"a": "lost", "b": "lost"},
		},
		"a generic type": {
			"type a[T any] struct{}\nfunc (*a[T]) one() { lost() }\n",
			map[string]string{"a": "lost"},
		},
		"one variable of a group": {
			"var (\n a = lost\n b = 1\n)\nvar c = b\n",
			map[string]string{"a": "lost"},
		},
		"all constants of a group": {
			"const (\n a = iota\n b = lost\n)\nvar c = a\n",
			map[string]string{"a": "lost", "b": "lost", "c": "lost"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := cutOf(t, "package p\n"+c.text)
			if !maps.Equal(got.gone, c.gone) {
				t.Errorf("%v is gone, want %v", got.gone, c.gone)
			}
		})
	}
}

func TestLinesKeepTheirNumbersAndUnusedImportsGo(t *testing.T) {
	const before = "package p\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\n// Doc.\nfunc a() {\n\tlost(strings.ToUpper(\"\"))\n}\n\nfunc b() { fmt.Println() }\n"
	text := string(cutOf(t, before).files[0].text)
	if strings.Count(text, "\n") != strings.Count(before, "\n") {
		t.Errorf("another number of lines:\n%s", text)
	}
	if got, want := strings.Fields(text), strings.Fields("package p import ( \"fmt\" ) func b() { fmt.Println() }"); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFileOfWhichNothingIsLeftIsEmpty(t *testing.T) {
	c := cutOf(t, "package p\nimport \"fmt\"\nfunc a() { fmt.Println(lost) }\n", "package p\nvar b = 1\n")
	if !c.files[0].empty() || c.files[1].empty() {
		t.Errorf("empty: %v and %v, want true and false", c.files[0].empty(), c.files[1].empty())
	}
}

func TestAFileMovesOutOfItsPackage(t *testing.T) {
	tr := &tree{}
	text, err := tr.outside("a_test.go", clientGoCache, []byte("// Doc.\npackage cache // a word\n\nimport \"fmt\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "// Doc.\npackage cache_test; import . \"" + kingletCache + "\" // a word\n\nimport \"fmt\"\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestGoTestRunsWhatIsNamedLikeATest(t *testing.T) {
	for name, want := range map[string]bool{"TestA": true, "Test": true, "Test_a": true, "Testing": false, "TestMain": false, "BenchmarkA": false} {
		if isTest(name) != want {
			t.Errorf("isTest(%q) is not %v", name, want)
		}
	}
}
