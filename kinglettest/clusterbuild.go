package kinglettest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// modulePath is the module whose folder "cluster" has the program.
const modulePath = "github.com/kinglet-go/kinglet"

// buildCluster builds kinglet-cluster if it is not up to date, and returns its
// path, which no other build replaces before unlock is called.
func buildCluster(ctx context.Context) (program string, unlock func(), err error) {
	source, err := clusterSource(ctx)
	if err != nil {
		return "", nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	// One file a checkout, so that two do not undo each other's work.
	hash := fnv.New32a()
	hash.Write([]byte(source))
	program = filepath.Join(cache, "kinglet", fmt.Sprintf("kinglet-cluster-%08x", hash.Sum32()))
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
	// The go command itself finds out whether there is anything to build.
	build := exec.CommandContext(ctx, "go", "build", "-C", source, "-o", program, "./cmd/kinglet-cluster")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		unlock()
		return "", nil, fmt.Errorf("%v: %w\n%s", build.Args, errors.Join(err, ctx.Err()), out)
	}
	return program, unlock, nil
}

// clusterSource returns the folder of the control plane's module.
func clusterSource(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath)
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", list.Args, errors.Join(err, ctx.Err()), stderr.String())
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "cluster")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return "", fmt.Errorf("the control plane's source is not there, so give ClusterOptions.Program or use a checkout of kinglet (with a replace directive or a workspace): %w", err)
	}
	return source, nil
}
