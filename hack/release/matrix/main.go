// Command matrix builds, vets and tests each module of kinglet with every version
// of Kubernetes that it says it works with, from a copy outside the repository.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kinglet-go/kinglet/hack/release"
)

func main() {
	tests := flag.Bool("test", true, "run the tests; without it only build and vet")
	only := flag.String("only", "", "only rows whose name has this in it, such as cache or 0.34")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: matrix [flags]\n\nRun it in a folder of kinglet's repository.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := all(ctx, *tests, *only); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func all(ctx context.Context, tests bool, only string) error {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("no repository here: %w", err)
	}
	repository := strings.TrimSpace(string(top))
	var failed []string
	ran := 0
	for _, r := range release.Matrix {
		if !strings.Contains(r.String(), only) {
			continue
		}
		ran++
		if err := one(ctx, repository, r, tests); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Println(err)
			failed = append(failed, r.String())
		}
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no row has %q in its name", only)
	case len(failed) > 0:
		return errors.New("failed:\n\t" + strings.Join(failed, "\n\t"))
	}
	fmt.Printf("%d rows passed\n", ran)
	return nil
}

// one works off a row.
func one(ctx context.Context, repository string, r release.Row, tests bool) error {
	work, err := os.MkdirTemp("", "matrix")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	dir, err := r.Lay(repository, filepath.Join(work, "kinglet"))
	if err != nil {
		return err
	}
	steps := [][]string{{"mod", "tidy"}, {"build", "./..."}, {"vet", "./..."}}
	if tests {
		test := []string{"test", "-vet=off", "./..."}
		if r.Line != "" && !strings.HasPrefix(r.With, "v"+r.Line+".") {
			// A line for an older Kubernetes lacks the newer one's names, by intent.
			test = append(test, "-skip", "^TestEverythingThatClientGosPackageExportsIsHere$")
		}
		steps = append(steps, test)
	}
	fmt.Printf("%s:", r)
	for _, args := range steps {
		began := time.Now()
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = dir, r.Env()
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 10 * time.Second
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			fmt.Println(" failed")
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
		}
		fmt.Printf(" %s %.0fs", args[0], time.Since(began).Seconds())
	}
	fmt.Println()
	return nil
}
