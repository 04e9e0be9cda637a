package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/kinglet-go/kinglet/release"
)

// bill is the bill of materials of m; at is the time of the commit.
func bill(m release.Module, dependencies []release.Dependency, at string) (*cdx.BOM, error) {
	main := component(release.Dependency{Path: m.Path(), Version: m.Version}, []string{"Apache-2.0"})
	b := cdx.NewBOM()
	b.Metadata = &cdx.Metadata{Timestamp: at, Component: &main}
	var components []cdx.Component
	needs := []cdx.Dependency{{Ref: main.BOMRef}}
	ref := map[string]string{}
	for _, d := range dependencies {
		ref[d.Path] = refOf(d)
	}
	for _, d := range dependencies {
		names, err := release.Licenses(d.Dir)
		if err != nil {
			return nil, err
		}
		c := component(d, names)
		if err := hash(&c, d.Sum); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		components = append(components, c)
		var refs []string
		for _, i := range d.Imports {
			if ref[i] != "" { // the main module has none
				refs = append(refs, ref[i])
			}
		}
		needs = append(needs, cdx.Dependency{Ref: c.BOMRef, Dependencies: &refs})
	}
	all := make([]string, 0, len(dependencies))
	for _, d := range dependencies {
		all = append(all, ref[d.Path])
	}
	needs[0].Dependencies = &all
	b.Components, b.Dependencies = &components, &needs
	return b, nil
}

func component(d release.Dependency, licences []string) cdx.Component {
	c := cdx.Component{
		BOMRef: refOf(d), PackageURL: refOf(d), Type: cdx.ComponentTypeLibrary,
		Name: d.Path, Version: d.Version, Scope: cdx.ScopeRequired,
	}
	var l cdx.Licenses
	for _, id := range licences {
		l = append(l, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	if len(l) > 0 {
		c.Licenses = &l
	}
	return c
}

// refOf is the package URL.
func refOf(d release.Dependency) string { return "pkg:golang/" + d.Path + "@" + d.Version }

// hash adds go.sum's: the SHA-256 of a list of the SHA-256s of the files.
func hash(c *cdx.Component, sum string) error {
	if sum == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil {
		return err
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	return nil
}
