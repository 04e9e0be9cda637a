package trouble

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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

// maxLine bounds what is shown of a foreign error's text.
const maxLine = 300

// Explain returns one line without a line break: what is wrong, and the way
// out where there is one.
func Explain(err error, s Subject) string {
	kind := Classify(err)
	text, hint := describe(kind, err, s)
	line := OneLine(text)
	if hint != "" {
		line += "; " + hint
	}
	return line
}

func describe(kind Kind, err error, s Subject) (text, hint string) {
	switch kind {
	case Forbidden:
		return "forbidden: " + forbidden(err), "check with: " + s.canI(verbOf(err))
	case Unauthorized:
		return "the server does not accept the credentials" + s.identity() + " (401)", "they may have expired: log in again; check with: kubectl auth whoami" + s.flags()
	case NotFound:
		return "the server has no such resource (404)", "its definition may have been deleted; see: kubectl api-resources" + s.flags()
	case Invalid:
		return "the server refuses the request: " + statusMessage(err), "check -l and --field-selector"
	case Unreachable:
		return "no connection to " + s.server() + ": " + rootCause(err), "is the cluster running, and --context the right one?"
	case Untrusted:
		return "the certificate of " + s.server() + " is not trusted: " + rootCause(err), "the kubeconfig may be of another cluster; see certificate-authority there, or --certificate-authority"
	case Login:
		return "no credentials" + s.identity() + ": " + after(err.Error(), "getting credentials: "), "the kubeconfig gets them from a program, see its users"
	case Busy:
		return "the server is busy: " + statusMessage(err), "trying again"
	}
	return err.Error(), ""
}

// canI is the command that asks the server about the permission.
func (s Subject) canI(verb string) string {
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

func (s Subject) identity() string {
	if s.User == "" {
		return ""
	}
	return fmt.Sprintf(" of user %q", s.User)
}

func (s Subject) server() string {
	if s.Server == "" {
		return "the server"
	}
	return s.Server
}

// forbidden returns the server's sentence without the part that says once
// more that it is forbidden.
func forbidden(err error) string {
	text := statusMessage(err)
	if _, rest, ok := strings.Cut(text, "is forbidden: "); ok {
		return rest
	}
	return text
}

// verbOf finds in a refusal which verb it was that is not allowed.
func verbOf(err error) string {
	if strings.Contains(statusMessage(err), "cannot watch ") {
		return "watch"
	}
	return "list"
}

func statusMessage(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// rootCause says why there is no connection, without method, address and the
// query that client libraries put before it.
func rootCause(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "unknown host " + dns.Name
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err.Error()
	}
	return err.Error()
}

func after(text, mark string) string {
	if _, rest, ok := strings.Cut(text, mark); ok {
		return rest
	}
	return text
}

// OneLine puts text on one line of bounded length.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine-1]) + "…"
	}
	return text
}
