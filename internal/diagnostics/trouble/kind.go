package trouble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// Kind is a class of errors that have the same remedy.
type Kind uint8

// The kinds.
const (
	Other        Kind = iota
	Forbidden         // the server knows who asks, and refuses
	Unauthorized      // the server does not know who asks
	NotFound          // no such collection
	Invalid           // the request makes no sense to the server: a selector
	Unreachable       // no connection, or one that broke
	Untrusted         // a connection, but its certificate is not trusted
	Login             // credentials could not be had on this side
	Throttled         // the server says later
	Server            // the server fails
	Expired           // the server no longer has the version
	Restored          // the server was restored, or numbers anew
	Limit             // more than an option allows
	Malformed         // an answer that cannot be read
	Stalled           // a connection on which nothing comes
	ShortWatch        // watches end as soon as they begin
	Protocol          // another answer that no server should give
	kinds
)

// Kinds is the number of kinds.
const Kinds = int(kinds)

// names has the names that String returns, and short ones for a status line.
var names = [...]struct{ name, short string }{
	Other:        {"error", "failing"},
	Forbidden:    {"forbidden", "forbidden"},
	Unauthorized: {"unauthorized", "credentials refused"},
	NotFound:     {"not_found", "not found"},
	Invalid:      {"invalid_request", "request refused"},
	Unreachable:  {"unreachable", "unreachable"},
	Untrusted:    {"certificate", "certificate not trusted"},
	Login:        {"credentials", "no credentials"},
	Throttled:    {"throttled", "server busy"},
	Server:       {"server_error", "server fails"},
	Expired:      {"expired", "version expired"},
	Restored:     {"restored", "server restored"},
	Limit:        {"limit", "too large"},
	Malformed:    {"malformed", "unreadable answer"},
	Stalled:      {"stalled", "nothing comes"},
	ShortWatch:   {"short_watch", "watch ends at once"},
	Protocol:     {"protocol", "odd answer"},
}

// String returns the kind's name, as it is used in metrics.
func (k Kind) String() string { return names[k].name }

// Short returns the kind's name for a status line.
func (k Kind) Short() string { return names[k].short }

// Lasting reports whether retries cannot succeed until someone intervenes.
func (k Kind) Lasting() bool {
	switch k {
	case Forbidden, Unauthorized, NotFound, Invalid, Untrusted, Login, Limit:
		return true
	}
	return false
}

// Classify returns what kind of error err is: Other if its methods panic.
func Classify(err error) (k Kind) {
	defer func() { _ = recover() }()
	switch {
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsNotFound(err):
		return NotFound
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return Expired
	case apierrors.IsTooManyRequests(err):
		return Throttled
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err):
		return Invalid
	}
	if status := answer(err); status != nil && status.Code >= http.StatusInternalServerError {
		return Server
	}
	if k := classifyFault(err); k != Other {
		return k
	}
	return classifyConnection(err)
}

// classifyFault classifies errors that kinglet itself raises.
func classifyFault(err error) Kind {
	if fault, ok := errtype.As[reflector.Fault](err); ok {
		switch fault {
		case reflector.ErrRestored:
			return Restored
		case reflector.ErrStalled:
			return Stalled
		case reflector.ErrShortWatch:
			return ShortWatch
		case reflector.ErrUnreadable:
			return Malformed
		}
		return Protocol
	}
	_, limit := errtype.As[*reflector.LimitError](err)
	_, large := errtype.As[*source.TooLargeError](err)
	if limit || large {
		return Limit
	}
	_, malformed := errtype.As[*source.MalformedError](err)
	_, item := errtype.As[*source.ItemError](err)
	if malformed || item || errors.Is(err, source.ErrEncoding) || errors.Is(err, source.ErrNoStatus) {
		return Malformed
	}
	return Other
}

func classifyConnection(err error) Kind {
	switch {
	case isUntrusted(err):
		return Untrusted
	// The exec plugin's errors arrive as text inside the request's error.
	case strings.Contains(text(err), "getting credentials: "):
		return Login
	case isUnreachable(err):
		return Unreachable
	}
	return Other
}

func isUntrusted(err error) bool {
	_, a := errtype.As[*tls.CertificateVerificationError](err)
	_, b := errtype.As[x509.UnknownAuthorityError](err)
	_, c := errtype.As[x509.HostnameError](err)
	_, d := errtype.As[x509.CertificateInvalidError](err)
	return a || b || c || d
}

func isUnreachable(err error) bool {
	if _, ok := errtype.As[*url.Error](err); ok {
		return true // the request was not answered at all
	}
	if _, ok := errtype.As[net.Error](err); ok {
		return true
	}
	words := text(err)
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) ||
		strings.Contains(words, "http2: client connection lost") || strings.Contains(words, "stream error: stream ID") ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, context.DeadlineExceeded)
}
