package cache

import (
	"time"

	kc "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// NewRetryWithDeadline returns a RetryWithDeadline that decides how long
// errors of one kind are retried: for maxRetryDuration from the first of them
// on. After that, or after minResetPeriod without one, the time starts again.
// It is client-go's; kinglet does not use it.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return kc.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}
