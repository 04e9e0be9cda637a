package reflector

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

// classify translates an error of a source, or of an Error event, into the
// machine's terms. It decides nothing.
func classify(err error) (f machine.Failure) {
	defer func() { // the program's own errors may have a nil pointer in them
		if v := recover(); v != nil {
			f = machine.Failure{Class: machine.Foreign, Err: errtype.Unsound(err, v)}
		}
	}()
	if err == nil || errors.Is(err, io.EOF) && !unanswered(err) {
		return machine.Failure{}
	}
	f = machine.Failure{Class: class(err), Err: err}
	var limit *LimitError
	var large *source.TooLargeError
	var malformed *source.MalformedError
	f.Limit = errors.As(err, &limit) || errors.As(err, &large)
	f.Malformed = errors.As(err, &malformed)
	f.Unanswered = unanswered(err)
	f.Unreachable = utilnet.IsConnectionRefused(err)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		f.RetryAfter = machine.Nanos(time.Duration(seconds) * time.Second)
	}
	return f
}

// unanswered reports whether err is of a request that got no answer at all. A
// connection closed before the first byte is an EOF too, but not the end of an
// answer.
func unanswered(err error) bool {
	var request *url.Error
	return errors.As(err, &request)
}

func class(err error) machine.Class {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return machine.Expired
	case apierrors.IsStoreReadError(err):
		return machine.StoreRead
	case isTooLarge(err):
		return machine.TooLarge
	case apierrors.IsTooManyRequests(err):
		return machine.Throttled
	case apierrors.IsUnauthorized(err):
		return machine.Unauthorized
	case apierrors.IsForbidden(err):
		return machine.Forbidden
	case apierrors.IsNotFound(err):
		return machine.NotFound
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err):
		return machine.Invalid
	case brokenOff(err): // also in the Status that client-go makes of it
		return machine.Transport
	case apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return machine.Server
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if fromNetwork(err) {
			return machine.Transport
		}
		return machine.Foreign
	}
	if status.Status().Code >= http.StatusInternalServerError {
		return machine.Server
	}
	return machine.Other
}

// fromNetwork reports whether err comes from a connection, from decoding a
// response, or from a response that exceeds a limit.
func fromNetwork(err error) bool {
	var (
		network   net.Error // a *url.Error as well, in which HTTP clients wrap all they meet
		system    syscall.Errno
		malformed *source.MalformedError
		large     *source.TooLargeError
		limit     *LimitError
	)
	return errors.As(err, &network) || errors.As(err, &system) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) ||
		errors.As(err, &malformed) || errors.As(err, &large) || errors.As(err, &limit)
}

// brokenOff reports whether HTTP/2 broke off, the connection or the stream of this request
// alone, or a Timeout of the HTTP client ended the request. The types of these errors are
// net/http's own, or those of its copy that client-go uses; only their words are the same. A
// server may use them too, of what is behind it.
func brokenOff(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) && !apierrors.HasStatusCause(err, undecodable) {
		return false
	}
	words := err.Error()
	return utilnet.IsHTTP2ConnectionLost(err) || strings.Contains(words, "stream error: stream ID") ||
		strings.Contains(words, "http2: server sent GOAWAY and closed the connection") ||
		strings.Contains(words, "net/http: request canceled")
}

// undecodable is the cause in the Status that client-go's clients make of an error of a stream.
const undecodable = "ClientWatchDecoding"

// isTooLarge reports whether the server has not yet reached the requested version.
// Servers before 1.18.6 say so only in the message.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsTimeout(err) || !errors.As(err, &status) {
		return false
	}
	const words = "Too large resource version"
	if strings.Contains(status.Status().Message, words) {
		return true
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if strings.Contains(cause.Message, words) {
				return true
			}
		}
	}
	return false
}
