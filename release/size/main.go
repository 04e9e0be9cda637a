// Command size measures what kinglet adds to an empty controller on
// controller-runtime: bytes of its binary, and CPU to compile kinglet's packages.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/release"
)

// requires are those of the controller.
var requires = []string{"sigs.k8s.io/controller-runtime@v0.25.2", "k8s.io/api@v0.37.2", "k8s.io/client-go@v0.37.2"}

// dropIn is the file that moves the controller over.
const dropIn = `package main

import "github.com/kinglet-go/kinglet/cache"

func init() { options.NewInformer = cache.NewSharedIndexInformer }
`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("no repository here: %w", err)
	}
	repository := strings.TrimSpace(string(top))
	work, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	env, err := release.Stranger(repository, work)
	if err != nil {
		return err
	}
	stock, err := lay(repository, filepath.Join(work, "stock"), nil, env)
	if err != nil {
		return err
	}
	ours, err := lay(repository, filepath.Join(work, "kinglet"), cacheModule(), env)
	if err != nil {
		return err
	}
	if err := ours.write("kinglet.go", dropIn); err != nil {
		return err
	}
	return compare(stock, ours)
}

// cacheModule is what the controller requires of kinglet.
func cacheModule() []string {
	m, ok := release.Required("cache")
	if !ok {
		panic("BUG: cache is not released")
	}
	return []string{m.String()}
}

// compare builds both, plain and stripped, and prints what differs.
func compare(stock, ours controller) error {
	for _, flags := range []string{"", "-s -w"} {
		before, err := stock.build(flags)
		if err != nil {
			return err
		}
		after, err := ours.build(flags)
		if err != nil {
			return err
		}
		name := "binary"
		if flags != "" {
			name = "binary, stripped (-ldflags '" + flags + "')"
		}
		fmt.Printf("%-45s %6.1f MB stock  %6.1f MB with kinglet  +%.2f MB\n", name, mega(before), mega(after), mega(after-before))
	}
	took, err := ours.compile()
	if err != nil {
		return err
	}
	fmt.Printf("%-45s %6.1f s of CPU\n", "to compile kinglet's packages", took.Seconds())
	return nil
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// controller is the folder of one.
type controller struct {
	dir string
	env []string
}

func lay(repository, dir string, more, env []string) (controller, error) {
	c := controller{dir, env}
	source, err := os.ReadFile(filepath.Join(repository, "release", "testdata", "controller.go.txt"))
	if err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return c, err
	}
	if err := c.write("main.go", string(source)); err != nil {
		return c, err
	}
	if err := c.write("go.mod", "module example.com/controller\n\ngo 1.26.0\n"); err != nil {
		return c, err
	}
	_, err = c.run(append(append([]string{"get"}, requires...), more...)...)
	return c, err
}

func (c controller) write(name, text string) error {
	return os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644)
}

// build returns the size of the binary.
func (c controller) build(ldflags string) (int64, error) {
	binary := filepath.Join(c.dir, "controller")
	if _, err := c.run("build", "-ldflags", ldflags, "-o", binary, "."); err != nil {
		return 0, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// compile returns the CPU that the go command takes to compile kinglet's packages,
// everything that they import being compiled already.
func (c controller) compile() (time.Duration, error) {
	pkg := release.Path + "/cache"
	idle, err := c.run("build", pkg)
	if err != nil {
		return 0, err
	}
	// A flag that changes nothing, and that nothing was compiled with before, is
	// another entry of the build cache: for kinglet's packages alone.
	flags := fmt.Sprintf("%s/...=-D=%d", release.Path, time.Now().UnixNano())
	took, err := c.run("build", "-gcflags", flags, pkg)
	return took - idle, err
}

// run runs the go command, and returns the CPU that it took with its children.
func (c controller) run(args ...string) (time.Duration, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
