package cluster

import (
	"runtime/debug"

	"k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	utilcompatibility "k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/component-base/compatibility"
)

// stampedVersion is a component's version, with the release of Kubernetes at /version.
//
// Kubernetes' own builds stamp it with -ldflags; the placeholder of any other build is
// no semantic version, so kubectl and others cannot parse it.
type stampedVersion struct {
	compatibility.MutableEffectiveVersion
}

func (v stampedVersion) Info() *apimachineryversion.Info {
	info := v.MutableEffectiveVersion.Info()
	info.GitVersion = release(v.BinaryVersion())
	info.GitCommit = ""
	return info
}

// Version returns the release of Kubernetes that runs, such as v1.36.3.
func Version() string {
	return release(utilcompatibility.DefaultKubeEffectiveVersionForTest().BinaryVersion())
}

// release returns the version of k8s.io/kubernetes that the program is built with, or
// the first patch of the minor if the build does not say.
func release(minor *version.Version) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "k8s.io/kubernetes" {
				return module.Version
			}
		}
	}
	return "v" + minor.WithPatch(0).String()
}
