// Command sbom writes a software bill of materials for each module that is tagged,
// in CycloneDX's JSON, and looks at what is in it: it fails for a dependency
// without a known permissive licence.
//
// Two runs on one commit write the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/kinglet-go/kinglet/release"
)

func main() {
	out := flag.String("out", "", "the folder for the files; with none, only the review is printed")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	repository, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	at, err := git("show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range release.Modules {
		dependencies, objections, err := m.Review(repository)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if err := show(m, dependencies); err != nil {
			return err
		}
		for _, o := range objections {
			errs = append(errs, errors.New(o))
		}
		if out == "" {
			continue
		}
		b, err := bill(m, dependencies, at)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if err := write(filepath.Join(out, fileOf(m)), b); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// show prints what a module links.
func show(m release.Module, dependencies []release.Dependency) error {
	fmt.Printf("%s with Kubernetes %s links %d modules\n", m, m.Kubernetes, len(dependencies))
	for _, d := range dependencies {
		names, err := release.Licenses(d.Dir)
		if err != nil {
			return err
		}
		fmt.Printf("  %-50s %-40s %4d packages  %s\n", d.Path, d.Version, d.Packages, strings.Join(names, ", "))
	}
	return nil
}

// fileOf is named after the tag.
func fileOf(m release.Module) string {
	name := "kinglet"
	if m.Dir != "." {
		name += "-" + strings.ReplaceAll(m.Dir, "/", "-")
	}
	return name + "-" + m.Version + ".cdx.json"
}

func write(file string, b *cdx.BOM) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(b)
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
