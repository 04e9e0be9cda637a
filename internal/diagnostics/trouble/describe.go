package trouble

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector"
)

// Peer is the server and the user of a request; each is empty if it is not known.
type Peer struct{ Server, User string }

const (
	// maxLine bounds the displayed part of a foreign error's text, in characters.
	maxLine = 300
	// maxRead bounds the part of it that is read, in bytes: each page view and each
	// scrape reads it.
	maxRead = 16 << 10
)

// Describe describes an error in one line, with the server's code if it gave one.
func Describe(kind Kind, err error, p Peer) string {
	if request, ok := errtype.As[*reflector.Error](err); ok && request.Err != nil {
		err = request.Err
	}
	switch kind {
	case Forbidden:
		return OneLine("forbidden (403): " + refusal(err))
	case Unauthorized:
		return "the server does not accept the credentials" + p.identity() + " (401)"
	case NotFound:
		return "the server has no such resource (404)"
	case Invalid:
		return OneLine("the server refuses the request" + code(err) + ": " + message(err))
	case Unreachable:
		return OneLine("no connection to " + p.server() + ": " + rootCause(err))
	case Untrusted:
		return OneLine("the certificate of " + p.server() + " is not trusted: " + rootCause(err))
	case Login:
		return OneLine("no credentials" + p.identity() + ": " + after(text(err), "getting credentials: "))
	case Throttled:
		return OneLine("the server is busy (429): " + message(err))
	case Server:
		return OneLine("the server fails" + code(err) + ": " + message(err))
	case Expired:
		return OneLine("the server no longer has the version (410): " + message(err))
	}
	return Line(err)
}

// DescribeOf is Describe of an informer's error. If the objects may be Secrets, it has no
// text that may be content: a decoder's description of the data that it could not read.
func DescribeOf(kind Kind, err error, secrets bool) string {
	if secrets && (kind == Malformed || kind == Other) {
		return "what the server sent could not be read; the error is not shown, since it may have parts of a Secret"
	}
	return Describe(kind, err, Peer{})
}

func (p Peer) identity() string {
	if p.User == "" {
		return ""
	}
	return fmt.Sprintf(" of user %q", p.User)
}

func (p Peer) server() string { return cmp.Or(p.Server, "the server") }

// refusal returns the server's sentence without the part that repeats that the request
// is forbidden.
func refusal(err error) string {
	return after(message(err), "is forbidden: ")
}

// message returns the server's own words.
func message(err error) string {
	if status := answer(err); status != nil {
		return status.Message
	}
	return text(err)
}

// answer returns a server's answer; nil if err is not an answer, or its methods panic.
func answer(err error) (status *metav1.Status) {
	defer func() { _ = recover() }()
	var e apierrors.APIStatus
	if errors.As(err, &e) {
		s := e.Status()
		status = &s
	}
	return status
}

func code(err error) string {
	status := answer(err)
	if status == nil || status.Code == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", status.Code)
}

// rootCause returns the reason why there is no connection, without the method, address
// and query that client libraries put before it.
func rootCause(err error) string {
	if dns, ok := errtype.As[*net.DNSError](err); ok {
		return "unknown host " + dns.Name
	}
	if errno, ok := errtype.As[syscall.Errno](err); ok {
		return errno.Error()
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it was closed in the midst of an answer (unexpected EOF)"
	case errors.Is(err, io.EOF):
		return "it was closed without an answer (EOF)"
	}
	if request, ok := errtype.As[*url.Error](err); ok {
		return text(request.Err)
	}
	return text(err)
}

// after returns what follows mark in a text, or all of it without one.
func after(text, mark string) string {
	if _, rest, ok := strings.Cut(text, mark); ok {
		return rest
	}
	return text
}

// OneLine returns text, made Printable, on one line of bounded length. It reads only
// the first 16 KiB.
func OneLine(text string) string {
	more := len(text) > maxRead
	if more {
		text = text[:maxRead]
	}
	text = Printable(strings.Join(strings.Fields(text), " "))
	if more || utf8.RuneCountInString(text) > maxLine {
		runes := []rune(text)
		text = string(runes[:min(len(runes), maxLine-1)]) + "…"
	}
	return text
}

// Line is OneLine of an error's text.
func Line(err error) string { return OneLine(text(err)) }

// text returns the text of an error. The error's method may panic, for example if a nil
// pointer was returned as an error. fmt then reports the panic in the text, and a scrape
// or a page view continues.
func text(err error) string { return fmt.Sprint(err) }

// Printable replaces unprintable characters with U+FFFD. The text may be untrusted: on a
// terminal, control characters could move the cursor or change its title, and in a
// browser, direction marks could show words in another order.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}
