package release

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/licenseclassifier/v2/assets"
)

// Permissive are the SPDX names of the licences that a dependency may have: those
// that ask for nothing but their own text.
var Permissive = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"}

// knownLicenses is the classifier, which takes a second to make.
var knownLicenses = sync.OnceValues(assets.DefaultClassifier)

// Licenses returns the SPDX names of the licences in the files of a module's top
// folder that are named for them, sorted. It is empty if there is none that is known.
func Licenses(dir string) ([]string, error) {
	c, err := knownLicenses()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if f.IsDir() || !strings.Contains(strings.ToUpper(f.Name()), "LICENSE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		for _, m := range c.Match(text).Matches {
			if m.MatchType == "License" && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// Review returns what a module links, and what a reviewer would have to refuse of it:
// dependencies whose licence is not Permissive, or not known.
func (m Module) Review(repository string) (dependencies []Dependency, objections []string, err error) {
	dependencies, err = m.Dependencies(repository)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range dependencies {
		names, err := Licenses(d.Dir)
		if err != nil {
			return nil, nil, err
		}
		if len(names) == 0 {
			objections = append(objections, fmt.Sprintf("%s: the licence of %s is not known: see %s", m.Path(), d.Path, d.Dir))
		}
		for _, n := range names {
			if !slices.Contains(Permissive, n) {
				objections = append(objections, fmt.Sprintf("%s: %s has the licence %s", m.Path(), d.Path, n))
			}
		}
	}
	return dependencies, objections, nil
}

func ours(path string) bool { return path == Path || strings.HasPrefix(path, Path+"/") }
