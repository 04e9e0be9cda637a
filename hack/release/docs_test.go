package release

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a document.
type block struct {
	file, language, text string
	line                 int
}

// blocks returns the fenced blocks of README.md and docs.
func blocks(t *testing.T) (found []block) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	fence := regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	for _, file := range append(files, "../../README.md") {
		text := read(t, file)
		for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
			found = append(found, block{
				file: strings.TrimPrefix(file, "../../"), language: text[m[2]:m[3]], text: text[m[4]:m[5]],
				line: strings.Count(text[:m[0]], "\n") + 1,
			})
		}
	}
	return found
}

// commands returns the shell commands of a document for a program on a minor of
// Kubernetes, to be run in its folder: a line whose comment names another minor is for
// other programs.
func commands(t *testing.T, file, kubernetes string) string {
	t.Helper()
	var script strings.Builder
	for _, b := range blocks(t) {
		if b.file != file || b.language != "sh" || !strings.HasPrefix(b.text, "go get ") {
			continue
		}
		for line := range strings.Lines(b.text) {
			if _, comment, ok := strings.Cut(line, "# for k8s.io/client-go v"); !ok || strings.TrimSpace(comment) == kubernetes {
				script.WriteString(line)
			}
		}
	}
	if script.Len() == 0 {
		t.Fatalf("%s has no command for a program", file)
	}
	return script.String()
}

// TestDocsQuoteWhatRuns: what stands between marks in an example or a test, which is run
// where it is, is in a document as it is.
func TestDocsQuoteWhatRuns(t *testing.T) {
	for _, source := range []string{"example_test.go", "controller/example_test.go", "test/examples/unit/unit_test.go"} {
		m := regexp.MustCompile(`(?ms)^(\t*)// (\S+\.md) begin\n(.*?)^\t*// \S+\.md end\n`).FindStringSubmatch(read(t, "../../"+source))
		if m == nil {
			t.Errorf("the marks are gone from %s", source)
			continue
		}
		indent, file := m[1], m[2]
		code := strings.TrimSuffix(regexp.MustCompile("(?m)^"+indent).ReplaceAllString(m[3], ""), "\n\n")
		code = strings.TrimSuffix(code, "\n") + "\n"
		if !slices.ContainsFunc(blocks(t), func(b block) bool { return b.file == file && b.text == code }) {
			t.Errorf("%s does not have the code of %s as it is compiled:\n%s", file, source, code)
		}
	}
}

// imported are the packages by the names that documents give them.
var imported = map[string]string{
	"apiserver": Path + "/kinglettest/apiserver", "cache": Path + "/cache", "compare": Path + "/ctrlruntime/compare",
	"controller": Path + "/controller", "ctrlruntime": Path + "/ctrlruntime", "factories": Path + "/cache/factories",
	"kinglet": Path, "kinglettest": Path + "/kinglettest", "page": Path + "/page",
	"prometheus": Path + "/prometheus", "kingletmetrics": Path + "/prometheus", "source": Path + "/source",

	"clientcmd": "k8s.io/client-go/tools/clientcmd", "corev1": "k8s.io/api/core/v1",
	"healthz": "k8s.io/apiserver/pkg/server/healthz", "kubernetes": "k8s.io/client-go/kubernetes",
	"labels": "k8s.io/apimachinery/pkg/labels", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
	"schema": "k8s.io/apimachinery/pkg/runtime/schema", "rest": "k8s.io/client-go/rest",

	"client": "sigs.k8s.io/controller-runtime/pkg/client", "ctrl": "sigs.k8s.io/controller-runtime",
	"metrics":  "sigs.k8s.io/controller-runtime/pkg/metrics",
	"promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",

	"context": "context", "fmt": "fmt", "http": "net/http", "synctest": "testing/synctest", "testing": "testing",
}

// importedIn are other packages of these names in one document, which says so.
var importedIn = map[string]map[string]string{
	"docs/controller-runtime.md": {
		"cache":      "sigs.k8s.io/controller-runtime/pkg/cache",
		"controller": "sigs.k8s.io/controller-runtime/pkg/controller",
	},
}

// source returns a Go file of the block: with the imports that it lacks, in a function
// if it is statements, and with each variable used.
func (b block) source(pkg string) (string, error) {
	imports, text := map[string]string{}, b.text
	own := regexp.MustCompile(`(?m)^import (\w+ )?"(.+)"\n`)
	for _, m := range own.FindAllStringSubmatch(text, -1) {
		imports[strings.TrimSpace(m[1])] = m[2]
	}
	text = own.ReplaceAllString(text, "")
	if !strings.HasPrefix(text, "func ") {
		parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+text+"\n}", 0)
		if err != nil {
			return "", err
		}
		text = fmt.Sprintf("func _() {\n%s\n%s}\n", text, uses(parsed.Decls[0].(*ast.FuncDecl).Body.List))
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, 0)
	if err != nil {
		return "", err
	}
	for _, name := range parsed.Unresolved {
		path := importedIn[b.file][name.Name]
		if path == "" {
			path = imported[name.Name]
		}
		if path != "" && imports[name.Name] == "" {
			imports[name.Name] = path
		}
	}
	header := "package " + pkg + "\n"
	for name, path := range imports {
		header += fmt.Sprintf("import %s %q\n", name, path)
	}
	out, err := format.Source([]byte(header + text))
	return string(out), err
}

// uses returns a statement for each variable that the statements define.
func uses(list []ast.Stmt) (code string) {
	for _, s := range list {
		if assign, ok := s.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
			for _, v := range assign.Lhs {
				if name := v.(*ast.Ident).Name; name != "_" {
					code += "_ = " + name + "\n"
				}
			}
		}
	}
	return code
}

// TestEverySnippetOfTheDocsCompiles in a program outside the repository, with what the
// documents require. testdata/docs.go.txt declares what snippets find declared.
func TestEverySnippetOfTheDocsCompiles(t *testing.T) {
	dir := filepath.Join(strangersWork(t), "snippets")
	env := strangersEnv(t)
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/snippets\n\ngo 1.26.0\n"), 0o644))
	n := 0
	for _, b := range blocks(t) {
		if b.language != "go" {
			continue
		}
		n++
		pkg := regexp.MustCompile(`\W`).ReplaceAllString(strings.TrimSuffix(b.file, ".md"), "")
		text, err := b.source(pkg)
		if err != nil {
			t.Errorf("%s:%d: %v", b.file, b.line, err)
			continue
		}
		at := filepath.Join(dir, pkg)
		must(t, os.MkdirAll(at, 0o755))
		must(t, os.WriteFile(filepath.Join(at, fmt.Sprintf("line%d.go", b.line)), []byte(text), 0o644))
		must(t, os.WriteFile(filepath.Join(at, "declared.go"), []byte("package "+pkg+"\n"+read(t, "testdata/docs.go.txt")), 0o644))
	}
	if n < 15 {
		t.Errorf("only %d snippets were found", n)
	}
	var versions []string
	for _, m := range Modules {
		if m.Line == "" && !m.Program {
			versions = append(versions, m.String())
		}
	}
	must(t, run(dir, env, append([]string{"get", "k8s.io/client-go@v0.37.2", "k8s.io/apiserver@v0.37.2", "sigs.k8s.io/controller-runtime@v0.25.2"}, versions...)...))
	must(t, run(dir, env, "mod", "tidy"))
	must(t, run(dir, env, "vet", "./..."))
}

// TestEveryCommandOfTheDocsExists: those of programs are run by
// TestAProgramKeepsItsKubernetesAndWorks; of the others the target, folder and package
// exist.
func TestEveryCommandOfTheDocsExists(t *testing.T) {
	makefile := read(t, "../../Makefile")
	packages := regexp.MustCompile(`^go \w+ (?:-C (\S+) )?`)
	for _, b := range blocks(t) {
		if b.language != "sh" || strings.HasPrefix(b.text, "go get ") {
			continue
		}
		for line := range strings.Lines(b.text) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
			switch name, args, _ := strings.Cut(command, " "); name {
			case "make":
				for _, target := range strings.Fields(args) {
					if !strings.Contains(makefile, "\n"+target+":") {
						t.Errorf("%s:%d: there is no target %s", b.file, b.line, target)
					}
				}
			case "go":
				if m := packages.FindStringSubmatch(command); m != nil {
					if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
						t.Errorf("%s:%d: %s: %v", b.file, b.line, command, err)
					}
				}
			case "kinglet":
				sub, _, _ := strings.Cut(args, " ")
				if _, err := os.Stat("../../cmd/kinglet/internal/command/" + sub + ".go"); err != nil {
					t.Errorf("%s:%d: %s: %v", b.file, b.line, command, err)
				}
			case "curl", "kubectl":
			default:
				t.Errorf("%s:%d: nothing tests %s", b.file, b.line, command)
			}
		}
	}
}

// TestAStrangersTestStartsAControlPlane as docs/testing.md has it, in a program outside
// the repository: kinglettest gets the control plane from the module proxy.
func TestAStrangersTestStartsAControlPlane(t *testing.T) {
	const name = "TestOnARealControlPlane"
	all := blocks(t)
	i := slices.IndexFunc(all, func(b block) bool { return strings.HasPrefix(b.text, "func "+name+"(") })
	if i < 0 {
		t.Fatalf("docs/testing.md has no %s", name)
	}
	text, err := all[i].source("program")
	must(t, err)
	dir := filepath.Join(strangersWork(t), "controlplane")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/program\n\ngo 1.26.0\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "program_test.go"), []byte(text), 0o644))
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	must(t, err)
	// The program is built into the stranger's cache folder; what go has compiled stays.
	env := append(strangersEnv(t), "GOCACHE="+strings.TrimSpace(string(compiled)), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	kinglettest, _ := Required("kinglettest")
	must(t, run(dir, env, "get", kinglettest.String()))
	must(t, run(dir, env, "mod", "tidy"))
	before := read(t, filepath.Join(dir, "go.mod")) + read(t, filepath.Join(dir, "go.sum"))
	must(t, run(dir, env, "test", "-vet=off", "-timeout", "25m", "-run", name, "."))
	if after := read(t, filepath.Join(dir, "go.mod")) + read(t, filepath.Join(dir, "go.sum")); after != before {
		t.Errorf("the program's go.mod or go.sum was changed:\n%s", after)
	}
	built, err := filepath.Glob(filepath.Join(dir, "cache", "kinglet", "kinglet-cluster-v*"))
	must(t, err)
	if len(built) != 2 { // and its lock
		t.Errorf("the cache folder has %v", built)
	}
}
