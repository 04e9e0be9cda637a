package command

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// versionText is one line for kinglet and one for each main dependency.
func versionText() string {
	v := readVersion()
	return fmt.Sprintf("kinglet %s\n%s %s/%s\nclient-go %s\n", v.kinglet, runtime.Version(), runtime.GOOS, runtime.GOARCH, v.clientGo)
}

type version struct{ kinglet, clientGo string }

// readVersion reads the build information that is in the binary.
func readVersion() version {
	v := version{kinglet: "unknown", clientGo: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.kinglet = info.Main.Version
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if revision != "" && !strings.Contains(v.kinglet, revision[:min(12, len(revision))]) {
		v.kinglet += " (" + revision[:min(12, len(revision))] + modified + ")"
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/client-go" {
			v.clientGo = dep.Version
			if dep.Replace != nil {
				v.clientGo = dep.Replace.Version
			}
		}
	}
	return v
}

// userAgent is what the API server's audit log shows.
func userAgent() string {
	name, _, _ := strings.Cut(readVersion().kinglet, " ")
	return fmt.Sprintf("kinglet/%s (%s/%s)", strings.Trim(name, "()"), runtime.GOOS, runtime.GOARCH)
}
