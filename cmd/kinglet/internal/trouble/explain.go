package trouble

import "github.com/kinglet-go/kinglet/internal/trouble"

// Subject is what was being asked for, and how.
type Subject struct {
	// Resource as a person types it; empty if it is not about one.
	Resource string
	// Namespace is empty for all of them; Namespaced tells whether there are
	// any.
	Namespace  string
	Namespaced bool
	// Server and User are those of the kubeconfig in use; each may be empty.
	Server, User string
	// Flags are the connection flags that were given, as text, so that a
	// command that is proposed asks the same cluster.
	Flags string
}

// Explain returns one line without a line break: what is wrong, and the way
// out where there is one.
func Explain(err error, s Subject) string {
	kind := Classify(err)
	line := OneLine(err.Error())
	if kind != Config {
		line = trouble.Describe(trouble.Kind(kind), err, trouble.Peer{Server: s.Server, User: s.User})
	}
	if hint := s.hint(kind, err); hint != "" {
		line += "; " + hint
	}
	return line
}

// hint is what a person at a terminal can do.
func (s Subject) hint(kind Kind, err error) string {
	switch kind {
	case Forbidden:
		return "check with: " + s.canI(err)
	case Unauthorized:
		return "they may have expired: log in again; check with: kubectl auth whoami" + s.flags()
	case NotFound:
		return "its definition may have been deleted; see: kubectl api-resources" + s.flags()
	case Invalid:
		return "check -l and --field-selector"
	case Unreachable:
		return "is the cluster running, and --context the right one?"
	case Untrusted:
		return "the kubeconfig may be of another cluster; see certificate-authority there, or --certificate-authority"
	case Login:
		return "the kubeconfig gets them from a program, see its users"
	case Throttled, Server:
		return "trying again"
	}
	return ""
}

// canI is the command that asks the server about the permission.
func (s Subject) canI(err error) string {
	verb := "list"
	if trouble.ParseRefusal(err).Verb == "watch" {
		verb = "watch"
	}
	cmd := "kubectl auth can-i " + verb + " " + s.resource()
	switch {
	case !s.Namespaced:
	case s.Namespace == "":
		cmd += " --all-namespaces"
	default:
		cmd += " -n " + s.Namespace
	}
	cmd += s.flags()
	if s.Namespaced && s.Namespace == "" {
		cmd += " (or try one namespace, with -n)"
	}
	return cmd
}

func (s Subject) resource() string {
	if s.Resource == "" {
		return "RESOURCE"
	}
	return s.Resource
}

func (s Subject) flags() string {
	if s.Flags == "" {
		return ""
	}
	return " " + s.Flags
}

// OneLine puts text on one line of bounded length.
func OneLine(text string) string { return trouble.OneLine(text) }
