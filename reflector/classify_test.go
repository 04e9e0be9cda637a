package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

func status(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message, Details: &metav1.StatusDetails{Causes: causes}}}
}

// undecoded is what client-go's clients make of an error of a watch's stream.
func undecoded(words string) error {
	return apierrors.FromObject(apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding").AsObject(errors.New(words)))
}

func TestErrorsAreToldApartByWhatTheyLeadTo(t *testing.T) {
	tooLarge := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}
	tooLargeInWords := metav1.StatusCause{Message: "Too large resource version"}
	for _, tc := range []struct {
		err  error
		want machine.Class
	}{
		{nil, machine.NoFailure},
		{io.EOF, machine.NoFailure},
		{io.ErrUnexpectedEOF, machine.Transport},
		{syscall.ECONNREFUSED, machine.Transport},
		{syscall.ECONNRESET, machine.Transport},
		{context.DeadlineExceeded, machine.Transport},
		{&url.Error{Op: "Get", Err: errors.New("http2: client connection lost")}, machine.Transport},
		{errors.New("stream error: stream ID 5; INTERNAL_ERROR; received from peer"), machine.Transport},
		{errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=5, ErrCode=NO_ERROR, debug=\"\""), machine.Transport},
		{undecoded("unable to decode an event from the watch stream: stream error: stream ID 5; INTERNAL_ERROR"), machine.Transport},
		{undecoded("unable to decode an event from the watch stream: net/http: request canceled"), machine.Transport},
		{apierrors.NewInternalError(errors.New("the webhook failed: net/http: request canceled while waiting for connection")), machine.Server},
		{apierrors.NewServiceUnavailable("stream error: stream ID 5; INTERNAL_ERROR"), machine.Server},
		{errors.New("net/http: request canceled"), machine.Transport},
		{&source.MalformedError{Err: errors.New("malformed")}, machine.Transport},
		{errors.New("a fake's own words"), machine.Foreign},
		{apierrors.NewResourceExpired("too old resource version"), machine.Expired},
		{status(http.StatusGone, metav1.StatusReasonGone, "too old resource version"), machine.Expired},
		{status(http.StatusGone, "", ""), machine.Expired},
		{status(http.StatusInternalServerError, metav1.StatusReasonStoreReadError, "data is corrupt"), machine.StoreRead},
		{status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "", tooLarge), machine.TooLarge},
		{status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "", tooLargeInWords), machine.TooLarge},
		{status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Too large resource version: 9, current: 5"), machine.TooLarge},
		{status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, ""), machine.Server},
		{apierrors.NewTooManyRequests("", 3), machine.Throttled},
		{apierrors.NewUnauthorized(""), machine.Unauthorized},
		{apierrors.NewForbidden(things, "", nil), machine.Forbidden},
		{apierrors.NewNotFound(things, ""), machine.NotFound},
		{apierrors.NewInvalid(schema.GroupKind{}, "", nil), machine.Invalid},
		{apierrors.NewBadRequest(""), machine.Invalid},
		{apierrors.NewMethodNotSupported(things, "watch"), machine.Invalid},
		{apierrors.NewInternalError(errors.New("etcd")), machine.Server},
		{apierrors.NewServiceUnavailable(""), machine.Server},
		{apierrors.NewServerTimeout(things, "list", 1), machine.Server},
		{apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", things, "", "", 0, true), machine.Server},
		{status(http.StatusTeapot, "", ""), machine.Other},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			if tc.err == nil {
				err = nil
			}
			if f := classify(err); f.Class != tc.want {
				t.Errorf("%v is %v, want %v", err, f.Class, tc.want)
			}
		}
	}
}

func TestRetryAfterIsReadFromTheStatus(t *testing.T) {
	if f := classify(apierrors.NewTooManyRequests("", 3)); f.RetryAfter != 3*machine.Second {
		t.Errorf("RetryAfter is %v", f.RetryAfter)
	}
	if f := classify(apierrors.NewInternalError(errors.New("etcd"))); f.RetryAfter != 0 {
		t.Errorf("RetryAfter is %v", f.RetryAfter)
	}
}
