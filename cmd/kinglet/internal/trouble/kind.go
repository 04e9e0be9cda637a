package trouble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/clientcmd"
)

// Kind is what is wrong, as far as it matters for what to do about it.
type Kind uint8

const (
	Other        Kind = iota
	Forbidden         // the server knows who asks, and refuses
	Unauthorized      // the server does not know who asks
	NotFound          // no such collection
	Invalid           // the request makes no sense to the server: a selector
	Unreachable       // no connection
	Untrusted         // a connection, but its certificate is not trusted
	Login             // credentials could not be had on this side
	Config            // the kubeconfig
	Busy              // the server says later
)

// Classify finds out what kind of trouble err is.
func Classify(err error) Kind {
	switch {
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsNotFound(err):
		return NotFound
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err):
		return Invalid
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return Busy
	case clientcmd.IsConfigurationInvalid(err), clientcmd.IsEmptyConfig(err), clientcmd.IsContextNotFound(err):
		return Config
	}
	if isUntrusted(err) {
		return Untrusted
	}
	// The exec plugin's errors come as text, inside of the request's.
	if strings.Contains(err.Error(), "getting credentials: ") {
		return Login
	}
	if isUnreachable(err) {
		return Unreachable
	}
	return Other
}

func isUntrusted(err error) bool {
	_, a := errors.AsType[*tls.CertificateVerificationError](err)
	_, b := errors.AsType[x509.UnknownAuthorityError](err)
	_, c := errors.AsType[x509.HostnameError](err)
	return a || b || c
}

func isUnreachable(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true // the request was not answered at all
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, context.DeadlineExceeded)
}

// Lasting reports whether asking again is not going to help until somebody
// does something.
func (k Kind) Lasting() bool {
	switch k {
	case Forbidden, Unauthorized, NotFound, Invalid, Untrusted, Login, Config:
		return true
	}
	return false
}

// Short names the kind in a status line.
func (k Kind) Short() string {
	switch k {
	case Forbidden:
		return "forbidden"
	case Unauthorized:
		return "credentials refused"
	case NotFound:
		return "not found"
	case Invalid:
		return "request refused"
	case Unreachable:
		return "unreachable"
	case Untrusted:
		return "certificate not trusted"
	case Login:
		return "no credentials"
	case Config:
		return "bad kubeconfig"
	case Busy:
		return "server busy"
	}
	return "failing"
}
