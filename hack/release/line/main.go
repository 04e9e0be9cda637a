// Command line makes the folder of a module's line that is not the one in its
// go.mod, such as cache's for Kubernetes 0.36, and prints its name.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/kinglet-go/kinglet/hack/release"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: line <folder> <line>, for example: line cache 0.36")
		os.Exit(2)
	}
	dir, err := lay(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "line:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func lay(folder, line string) (string, error) {
	for _, m := range release.Modules {
		if m.Dir != folder || m.Line == "" || m.Line != line {
			continue
		}
		top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
		if err != nil {
			return "", fmt.Errorf("no repository here: %w", err)
		}
		dir, err := os.MkdirTemp("", folder)
		if err != nil {
			return "", err
		}
		return dir, m.Copy(strings.TrimSpace(string(top)), dir)
	}
	return "", fmt.Errorf("hack/release/modules.go has no line %q of %q", line, folder)
}
