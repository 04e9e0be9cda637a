// Command borrowed says which functions of client-go's tools/cache ran while a
// coverage profile of that package was written, and fails if one is not on the
// list in allowed.go. The profile is one of the conformance suite, run over
// kinglet's package cache:
//
//	go test -run ... -coverpkg k8s.io/client-go/tools/cache -coverprofile p ./cache
//	go run ./cache/internal/borrowed p
//
// It proves that no store, queue, controller, reflector or informer of
// client-go's runs underneath.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const watched = "k8s.io/client-go/tools/cache"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: borrowed coverage-profile")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "borrowed:", err)
		os.Exit(1)
	}
}

func run(profile string, out io.Writer) error {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", watched).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", watched, err)
	}
	funcs, err := functionsIn(strings.TrimSpace(string(dir)))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	ran, err := executed(string(text), funcs)
	if err != nil {
		return err
	}
	return judge(ran, funcs, out)
}

// judge prints the functions that ran, with the reason why each may. It returns an
// error that names those that may not, and the entries of the list that are no
// longer functions.
func judge(ran map[string]bool, funcs functions, out io.Writer) error {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		if why, ok := reasonFor(name); ok {
			fmt.Fprintf(out, "%s: %s\n", name, why)
			continue
		}
		problems = append(problems, name+" of client-go's ran")
	}
	all := map[string]bool{}
	for _, src := range funcs {
		for _, s := range src.spans {
			all[s.name] = true
			typ, _, _ := strings.Cut(s.name, ".")
			all[typ+".*"] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if !all[name] {
			problems = append(problems, name+" is on the list, and no function of client-go's")
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	fmt.Fprintf(out, "%d of client-go's %d functions ran, all of them on the list\n", len(ran), funcs.count())
	return nil
}
