package trouble

import (
	"cmp"
	"errors"
	"strings"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// Remedy says in one line what to do about an error of an informer of a resource.
func Remedy(kind Kind, err error, resource string) string {
	return OneLine(remedy(kind, err, resource))
}

func remedy(kind Kind, err error, resource string) string {
	switch {
	case kind == Forbidden:
		return grant(ParseRefusal(err), resource)
	case kind == NotFound:
		return "install the definition of " + resource + " again, or remove its informer; kubectl api-resources lists what the server has"
	case kind == Limit:
		return limit(err)
	case kind == Protocol && errors.Is(err, reflector.ErrTruncated):
		return "see what ends answers early: a timeout of a proxy or load balancer, or the API server, if this program or its connection is too slow; kinglet goes on trying"
	}
	return remedies[kind]
}

// remedies are those that depend on the kind alone.
var remedies = [kinds]string{
	Other:        "read the error; kinglet goes on trying",
	Unauthorized: "renew this program's token or client certificate; kinglet goes on trying",
	Invalid:      "check the label and field selectors, and the version, of this informer's source",
	Unreachable:  "see whether the API server runs, and whether this program reaches it (DNS, network policy, load balancer); kinglet goes on trying",
	Untrusted:    "check which certificate authority this program trusts (certificate-authority, ca.crt), and the server's name and expiry date",
	Login:        "run the program that gets the credentials by hand; the kubeconfig names it under users",
	Throttled:    "find out who floods the API server (kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels); kinglet waits as long as it is told",
	Server:       "look at the API server's log and at etcd; kinglet goes on trying",
	Expired:      "if it repeats: this program or its connection is too slow for the server's history (etcd compaction, watch cache); kinglet lists again",
	Restored:     "kinglet follows the server; what was written after the backup is gone, so look at what this program did since",
	Malformed:    "compare with kubectl get --raw: something on the way changes answers, or the server's version does not fit",
	Stalled:      "look at what is between this program and the API server: a proxy or load balancer keeps the connection and passes nothing on",
	ShortWatch:   "look at the timeouts of what is between this program and the API server: something ends watches at once",
	Protocol:     "compare the API servers behind this address: one is behind the others, or something between answers for them",
}

func limit(err error) string {
	option := "the limit"
	if e, ok := errtype.As[*reflector.LimitError](err); ok {
		option = "Options." + e.Option
	}
	if _, ok := errtype.As[*source.TooLargeError](err); ok {
		option = "MaxObjectBytes in the source's options"
	}
	return "raise " + option + ", or ask for less: a namespace, a selector, Options.Drop"
}

// Refusal is a server's description of a request that it forbids. Each field may be
// empty.
type Refusal struct {
	User, Verb, Resource, Group, Namespace string
	// Everywhere is set if the request was for all namespaces, or for a resource that is
	// not in one.
	Everywhere bool
}

// ParseRefusal reads the sentence in which API servers refuse a request:
//
//	User "ann" cannot list resource "pods" in API group "" in the namespace "shop"
func ParseRefusal(err error) (r Refusal) {
	text := refusal(err)
	r.User = between(text, `User "`, `" cannot `)
	_, text, _ = strings.Cut(text, `" cannot `)
	r.Verb, _, _ = strings.Cut(text, " ")
	r.Resource = between(text, `resource "`, `"`)
	r.Group = between(text, `in API group "`, `"`)
	r.Namespace = between(text, `in the namespace "`, `"`)
	r.Everywhere = strings.Contains(text, "at the cluster scope")
	return r
}

func between(text, before, after string) string {
	_, text, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	text, _, _ = strings.Cut(text, after)
	return text
}

func grant(r Refusal, resource string) string {
	if r.Resource != "" {
		resource = r.Resource
		if r.Group != "" {
			resource += "." + r.Group
		}
	}
	line := "grant list and watch on " + resource + " to " + cmp.Or(r.User, "this program's user")
	switch {
	case r.Namespace != "":
		line += " in namespace " + r.Namespace + " (a Role and a RoleBinding)"
	case r.Everywhere:
		line += " (a ClusterRole and a ClusterRoleBinding)"
	}
	if r.Verb == "watch" {
		line += "; until then kinglet lists every 30 to 60 s"
	}
	return line
}
