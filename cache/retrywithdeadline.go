package cache

import (
	"time"

	kc "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// NewRetryWithDeadline returns what says for how long errors of one kind are
// worth another try: from the first of them on for maxRetryDuration, after
// which, or after minResetPeriod without one, the count begins anew. It is
// client-go's; nothing of kinglet's uses it.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return kc.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}
