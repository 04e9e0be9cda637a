package kinglettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// modulePath is the root module, whose folder "cluster" has the program in a checkout.
	modulePath = "github.com/kinglet-go/kinglet"
	// clusterVersion is the release of module cluster that goes with this module. A test
	// of module release compares it.
	clusterVersion = "v0.1.0"
	// progressInterval is how often a build says how far it is.
	progressInterval = 10 * time.Second
)

// buildCluster returns the path of kinglet-cluster, and a function to call once it runs:
// no other build replaces the program before. In a checkout of kinglet it is built from
// there whenever the source has changed; elsewhere once, from the module that the go
// command downloads. Both are kept in the user's cache folder.
func buildCluster(ctx context.Context) (program string, unlock func(), err error) {
	source, err := clusterCheckout(ctx)
	if err != nil {
		return "", nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	name := clusterVersion
	if source != "" {
		// One file a checkout, so that two do not undo each other's work.
		hash := fnv.New32a()
		hash.Write([]byte(source))
		name = fmt.Sprintf("%08x", hash.Sum32())
	}
	program = filepath.Join(cache, "kinglet", "kinglet-cluster-"+name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", nil, err
	}
	unlock, err = lockFile(ctx, program+".lock")
	if err != nil {
		return "", nil, err
	}
	if source != "" {
		err = goBuild(ctx, source, program)
	} else if _, missing := os.Stat(program); missing != nil {
		err = buildRelease(ctx, program)
	}
	if err != nil {
		unlock()
		return "", nil, err
	}
	return program, unlock, nil
}

// clusterCheckout returns the folder of the control plane's module in a checkout of
// kinglet, which a replace directive or a workspace names; "" if there is none, since
// modules in the module cache do not contain other modules.
func clusterCheckout(ctx context.Context) (string, error) {
	out, err := goOutput(ctx, "", "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(out))
	source := filepath.Join(dir, "cluster")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); dir == "" || err != nil {
		return "", nil
	}
	return source, nil
}

// buildRelease downloads the module, which the proxy and the checksum database of the
// program's go command vouch for, and builds a copy of it: as the main module its replace
// directives count, and the module cache cannot be written to.
func buildRelease(ctx context.Context, program string) error {
	work, err := os.MkdirTemp("", "kinglet-cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// In a folder outside of the caller's module, of which go.mod and go.sum stay as
	// they are.
	out, err := goOutput(ctx, work, "mod", "download", "-json", modulePath+"/cluster@"+clusterVersion)
	if err != nil {
		return fmt.Errorf("%w (or give ClusterOptions.Program)", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	source := filepath.Join(work, "cluster")
	if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
		return err
	}
	// The file appears when it is whole: a build that is killed leaves none.
	if err := goBuild(ctx, source, program+".new"); err != nil {
		return err
	}
	return os.Rename(program+".new", program)
}

// goBuild builds the program, and says on stderr how far it is when that takes long. The
// go command itself finds out whether there is anything to build.
func goBuild(ctx context.Context, source, program string) error {
	// -trimpath, so that all builds share what the go command keeps of Kubernetes.
	build := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-mod=readonly", "-o", program, "./cmd/kinglet-cluster")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off")
	stderr, err := build.StderrPipe()
	if err != nil {
		return err
	}
	if err := build.Start(); err != nil {
		return err
	}
	said := &tail{}
	reportProgress(stderr, said)
	if err := build.Wait(); err != nil {
		return fmt.Errorf("%v: %w%s", build.Args, errors.Join(err, ctx.Err()), said)
	}
	return nil
}

// reportProgress reads what go build -v writes, a line for each package that it compiles,
// and keeps it for errors. Every progressInterval it says how many there were.
func reportProgress(in io.Reader, said io.Writer) {
	began := time.Now()
	next := began.Add(progressInterval)
	lines := bufio.NewScanner(io.TeeReader(in, said))
	for n := 1; lines.Scan(); n++ {
		if at := time.Now(); at.After(next) {
			next = at.Add(progressInterval)
			fmt.Fprintf(os.Stderr, "kinglettest: builds the control plane, the first time some minutes: %d packages in %v\n", n, at.Sub(began).Round(time.Second))
		}
	}
}

// goOutput runs the go command in a folder and returns what it writes to stdout.
func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s%s", cmd.Args, errors.Join(err, ctx.Err()), stderr.String(), out)
	}
	return out, nil
}
