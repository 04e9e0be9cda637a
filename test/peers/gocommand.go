package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// goCommand returns a go command in the current folder's module. When ctx ends,
// the command and everything that it started are interrupted, and killed ten
// seconds later.
func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	// A group of its own: go test does not pass signals on to what it runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// runGo runs cmd and gives its output to read. A command that fails is an error
// with what it has written to stderr.
func runGo(ctx context.Context, cmd *exec.Cmd, read func(io.Reader) error) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	err = cmd.Wait()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			// This ends processes that ignored the interrupt. An error says that there is none.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return readErr
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath   string
	ForTest      string
	Dir          string
	Export       string
	Standard     bool
	DepOnly      bool
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	Module       *goModule
	Error        *struct{ Err string }
}

type goModule struct {
	Path, Version, Dir string
	Main               bool
}

// list runs go list over the packages in the module of a file for -modfile, beside
// which it has its go.mod.
func list(ctx context.Context, modfile string, args ...string) ([]goPackage, error) {
	all := []string{"list", "-modfile=" + modfile, "-json=ImportPath,ForTest,Dir,Export,Standard,DepOnly,GoFiles,TestGoFiles,XTestGoFiles,Imports,Module,Error"}
	var pkgs []goPackage
	cmd := goCommand(ctx, append(all, args...)...)
	cmd.Dir = filepath.Dir(modfile)
	err := runGo(ctx, cmd, func(r io.Reader) error {
		for d := json.NewDecoder(r); ; {
			var p goPackage
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("go list: %w", err)
			}
			if p.Error != nil {
				return fmt.Errorf("go list: %s", p.Error.Err)
			}
			pkgs = append(pkgs, p)
		}
	})
	return pkgs, err
}
