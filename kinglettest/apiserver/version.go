package apiserver

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Version is a minor version of Kubernetes whose API server a [Server] plays,
// with the feature gates at their defaults. docs/kubernetes.md lists what the
// versions answer differently, with the source of each difference.
type Version int

// The versions that a Server plays.
const (
	V133 Version = 33 + iota
	V134
	V135
	V136
	V137
)

// defaultVersion is what the control plane of kinglettest runs.
const defaultVersion = V136

// Versions returns the versions that a Server plays, the oldest first.
func Versions() []Version { return []Version{V133, V134, V135, V136, V137} }

// String returns the version as "1.36".
func (v Version) String() string {
	if v == 0 {
		v = defaultVersion
	}
	return fmt.Sprintf("1.%d", int(v))
}

// orDefault returns the version to play. It panics if there is no such Version:
// only a conversion makes one.
func (v Version) orDefault() Version {
	switch {
	case v == 0:
		return defaultVersion
	case v < V133 || v > V137:
		panic(fmt.Sprintf("apiserver: Options.Version is Kubernetes %v, which is not played; V133 to V137 are", v))
	}
	return v
}

// watchLists reports whether the gate WatchList is on.
func (v Version) watchLists() bool { return v >= V134 }

// snapshots reports whether the gate ListFromCacheSnapshot is on: a list at an
// exact version is answered by the watch cache, not by etcd.
func (v Version) snapshots() bool { return v >= V134 }

var ownerIndex = regexp.MustCompile(`^(metadata\.ownerReferences)\[[0-9]+\]`)

// ownerErrors are the errors of ownerReferences in the words of the version: since 1.37 they say
// which one is wrong, and that a field is required.
func (v Version) ownerErrors(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		name := ownerIndex.ReplaceAllString(err.Field, "$1")
		if v >= V137 || name == err.Field {
			continue
		}
		if err.Field = name; err.Type == field.ErrorTypeRequired {
			err.Type, err.BadValue = field.ErrorTypeInvalid, ""
		}
	}
	return errs
}

// compressesWatchLists reports whether the gate WatchListCompression is on.
func (v Version) compressesWatchLists() bool { return v >= V137 }
