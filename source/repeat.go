package source

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// listRepeats is how often a list is repeated, as client-go's clients do.
	listRepeats = 10
	// maxRepeatAfter is the longest wait for it. A server that lags, or has many requests,
	// asks for seconds. A longer wait is the reflector's, whose Status shows it.
	maxRepeatAfter = 30 * time.Second
)

// repeated calls list, and unless once is set calls it again while it fails and returns how
// long to wait. The client must not repeat the request: it would sleep for as long as the
// server asks.
func repeated(ctx context.Context, once bool, list func() (after time.Duration, err error)) error {
	for repeats := 0; ; repeats++ {
		after, err := list()
		if err == nil || once || after <= 0 || after > maxRepeatAfter || repeats == listRepeats {
			return err
		}
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// retryAfter returns how long the server asks to wait that refused a request with err.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}
