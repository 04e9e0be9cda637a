package source

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errSeen stops reading an answer whose rest is not needed.
var errSeen = errors.New("source: the rest is of no use")

// latest lists one object. It sends no selectors, since they could make the server
// search everything for it, unless only the selection may be read.
func (s *restSource[T]) latest(ctx context.Context) (version string, err error) {
	lo := metav1.ListOptions{Limit: 1}
	version, err = s.versionOf(ctx, lo)
	if (s.opts.LabelSelector != "" || s.opts.FieldSelector != "") && apierrors.IsForbidden(err) {
		lo.LabelSelector, lo.FieldSelector = s.opts.LabelSelector, s.opts.FieldSelector
		version, err = s.versionOf(ctx, lo)
	}
	return version, err
}

func (s *restSource[T]) versionOf(ctx context.Context, lo metav1.ListOptions) (version string, err error) {
	body, err := s.request(&lo, false).MaxRetries(0).Stream(ctx)
	if err != nil {
		return "", failed(ctx, err)
	}
	defer body.Close()
	err = s.dec.another().DecodeList(body, nil, func(p Page[T]) error {
		version = p.ResourceVersion
		return nil
	})
	return version, failed(ctx, err)
}

// next watches until the first event. Like all watches, it is not subject to the
// client's rate limit.
func (s *restSource[T]) next(ctx context.Context, from string, timeout time.Duration) (change bool, version string, err error) {
	lo := watchOptions(&s.opts, WatchRequest[T]{ResourceVersion: from, Timeout: timeout})
	body, err := s.request(&lo, true).Throttle(nil).MaxRetries(0).Stream(ctx)
	if err != nil {
		return false, "", failed(ctx, err)
	}
	defer body.Close()
	err = s.dec.another().DecodeWatch(body, nil, func(events []Event[T]) error {
		switch e := &events[0]; e.Type {
		case Bookmark:
			version = e.ResourceVersion
		case Error:
			return e.Err
		default:
			change, version = true, e.ResourceVersion
		}
		return errSeen
	})
	if err == errSeen || errors.Is(err, io.EOF) {
		err = nil
	}
	return change, version, failed(ctx, err)
}
