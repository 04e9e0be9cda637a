// Package trouble turns errors into the one line that a person at a terminal
// needs: what it is about, what is wrong, and the way out by kubectl and flags. It
// is pure. What kind an error is, and what is wrong, the library decides, as for
// its page and metrics.
package trouble

import (
	"regexp"

	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
)

// The kinds of which this package, or its callers, know more than the library.
const (
	Unreachable = trouble.Unreachable
	Throttled   = trouble.Throttled
	Server      = trouble.Server
)

// Trouble is an error, explained.
type Trouble struct {
	trouble.Kind
	// Text is one line: what is wrong, and the way out where there is one.
	Text string
}

// Subject is what was being asked for, and how.
type Subject struct {
	// Resource as a person types it; empty if it is not about one.
	Resource string
	// Namespace is empty for all of them; Namespaced tells whether there are
	// any.
	Namespace  string
	Namespaced bool
	// Secret hides errors that may have parts of an object.
	Secret bool
	// Once: it is not asked again.
	Once bool
	// Server and User are those of the kubeconfig in use; each may be empty.
	Server, User string
	// Flags are the connection flags that were given, as text, so that a
	// command that is proposed asks the same cluster.
	Flags string
}

// Explain explains an error.
func Explain(err error, s Subject) Trouble {
	t := Trouble{Kind: trouble.Classify(err)}
	t.Text = trouble.Describe(t.Kind, err, trouble.Peer{Server: s.Server, User: s.User})
	if s.Secret && (t.Kind == trouble.Malformed || t.Kind == trouble.Other) {
		t.Text = trouble.DescribeOf(t.Kind, err, true)
	}
	if hint := s.hint(t.Kind, err); hint != "" {
		t.Text += "; " + hint
	}
	t.Text = withoutPasswords(t.Text)
	return t
}

// hint is what a person at a terminal can do.
func (s Subject) hint(kind trouble.Kind, err error) string {
	switch kind {
	case trouble.Forbidden:
		return "check with: " + s.canI(err)
	case trouble.Unauthorized:
		return "they may have expired: log in again; check with: kubectl auth whoami" + s.flags()
	case trouble.NotFound:
		return "its definition may have been deleted; see: kubectl api-resources" + s.flags()
	case trouble.Invalid:
		return "check -l and --field-selector"
	case trouble.Unreachable:
		return "is the cluster running, and --context the right one?"
	case trouble.Untrusted:
		return "the kubeconfig may be of another cluster; see certificate-authority there, or --certificate-authority"
	case trouble.Login:
		return "the kubeconfig gets them from a program, see its users"
	case trouble.Throttled, trouble.Server:
		if !s.Once {
			return "trying again"
		}
	}
	return ""
}

// canI is the command that asks the server about the permission.
func (s Subject) canI(err error) string {
	verb, resource := "list", s.Resource
	if trouble.ParseRefusal(err).Verb == "watch" {
		verb = "watch"
	}
	if resource == "" {
		resource = "RESOURCE"
	}
	cmd := "kubectl auth can-i " + verb + " " + resource
	switch {
	case !s.Namespaced:
		return cmd + s.flags()
	case s.Namespace == "":
		return cmd + " --all-namespaces" + s.flags() + " (or try one namespace, with -n)"
	}
	return cmd + " -n " + s.Namespace + s.flags()
}

func (s Subject) flags() string {
	if s.Flags == "" {
		return ""
	}
	return " " + s.Flags
}

// OneLine puts text on one line of bounded length, without passwords in URLs.
func OneLine(text string) string { return trouble.OneLine(withoutPasswords(text)) }

// userinfo is a URL up to its host, with a password.
var userinfo = regexp.MustCompile(`(://[^\s/?#"]*?):[^\s"]*@`)

func withoutPasswords(text string) string { return userinfo.ReplaceAllString(text, "$1:xxxxx@") }
