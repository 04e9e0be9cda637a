package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Proxy writes Modules into the folder dir, as a module proxy serves them; its
// file URL is for GOPROXY, in front of the proxies that have everything else.
// repository is the folder of the root module.
func Proxy(repository, dir string, env []string) error {
	env = append(slices.Clone(env), "GOPROXY=file://"+dir+","+rest(env))
	for _, m := range Modules {
		if err := m.publish(repository, dir, env); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	return nil
}

// Stranger is the environment for the go command of somebody who has neither this
// workspace nor what this machine keeps of the modules in it, and can download
// Modules as if they were tagged. What the machine has downloaded of others is asked
// before the network. work is an empty folder for all that.
func Stranger(repository, work string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	downloaded := filepath.Join(strings.TrimSpace(string(out)), "cache", "download")
	env := os.Environ()
	env = append(env,
		"GOPROXY=file://"+downloaded+","+rest(env),
		"GOMODCACHE="+filepath.Join(work, "modules"),
		"GOWORK=off",
		"GOFLAGS=-mod=mod -modcacherw -trimpath -buildvcs=false",
		"GONOSUMDB="+Path+","+Path+"/*",
	)
	proxy := filepath.Join(work, "proxy")
	if err := Proxy(repository, proxy, env); err != nil {
		return nil, err
	}
	return append(env, "GOPROXY=file://"+proxy+","+rest(env)), nil
}

// rest is the GOPROXY of an environment.
func rest(env []string) string {
	cmd := exec.Command("go", "env", "GOPROXY")
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		return "direct"
	}
	return strings.TrimSpace(string(out))
}

// publish writes the files of one version, and adds it to the list.
func (m Module) publish(repository, dir string, env []string) (err error) {
	from, err := os.MkdirTemp("", "module")
	if err != nil {
		return err
	}
	defer os.RemoveAll(from)
	if err := m.Copy(repository, from); err != nil {
		return err
	}
	if m.Line != "" {
		if err := run(from, env, "mod", "tidy"); err != nil {
			return err
		}
	}
	escaped, err := module.EscapePath(m.Path())
	if err != nil {
		return err
	}
	at := filepath.Join(dir, escaped, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, m.Version+".mod"), mod, 0o644); err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}", m.Version, time.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(at, m.Version+".info"), []byte(info), 0o644); err != nil {
		return err
	}
	list, err := os.OpenFile(filepath.Join(at, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(list, m.Version)
	if err = firstOf(err, list.Close()); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		return err
	}
	// It refuses what the go command would refuse, such as replaced modules'
	// names that differ in case only.
	err = zip.CreateFromDir(file, module.Version{Path: m.Path(), Version: m.Version}, from)
	return firstOf(err, file.Close())
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs the go command in dir. Its error says what the command wrote.
func run(dir string, env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
