package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/internal/skew"
)

// Queues.
type (
	// TypedInterface is a queue that holds each item once, and in which one worker at a
	// time processes it.
	TypedInterface[T comparable] = kw.TypedInterface[T]
	// Deprecated: use TypedInterface instead.
	Interface = kw.Interface
	// Queue is the order of a TypedInterface. Its methods are called one at a
	// time, under the lock of the queue that it is given to.
	Queue[T comparable] = kw.Queue[T]
	// TypedDelayingInterface is a TypedInterface to which items can be added
	// later.
	TypedDelayingInterface[T comparable] = kw.TypedDelayingInterface[T]
	// Deprecated: use TypedDelayingInterface instead.
	DelayingInterface = kw.DelayingInterface
	// TypedRateLimitingInterface is a TypedDelayingInterface with a rate limiter,
	// which decides the delay.
	TypedRateLimitingInterface[T comparable] = kw.TypedRateLimitingInterface[T]
	// Deprecated: use TypedRateLimitingInterface instead.
	RateLimitingInterface = kw.RateLimitingInterface
)

// Configurations for constructors. The zero value of each works.
type (
	// TypedQueueConfig configures [NewTypedWithConfig].
	TypedQueueConfig[T comparable] = kw.TypedQueueConfig[T]
	// QueueConfig configures [NewWithConfig].
	//
	// Deprecated: use TypedQueueConfig instead.
	QueueConfig = kw.QueueConfig
	// TypedDelayingQueueConfig configures [NewTypedDelayingQueueWithConfig].
	TypedDelayingQueueConfig[T comparable] = kw.TypedDelayingQueueConfig[T]
	// DelayingQueueConfig configures [NewDelayingQueueWithConfig].
	//
	// Deprecated: use TypedDelayingQueueConfig instead.
	DelayingQueueConfig = kw.DelayingQueueConfig
	// TypedRateLimitingQueueConfig configures
	// [NewTypedRateLimitingQueueWithConfig].
	TypedRateLimitingQueueConfig[T comparable] = kw.TypedRateLimitingQueueConfig[T]
	// RateLimitingQueueConfig configures [NewRateLimitingQueueWithConfig].
	//
	// Deprecated: use TypedRateLimitingQueueConfig instead.
	RateLimitingQueueConfig = kw.RateLimitingQueueConfig
)

// Metrics.
type (
	// MetricsProvider makes the metrics of queues that have a name.
	MetricsProvider     = kw.MetricsProvider
	GaugeMetric         = kw.GaugeMetric
	SettableGaugeMetric = kw.SettableGaugeMetric
	CounterMetric       = kw.CounterMetric
	SummaryMetric       = kw.SummaryMetric
	HistogramMetric     = kw.HistogramMetric
)

// DoWorkPieceFunc does one piece of the work of [ParallelizeUntil].
type DoWorkPieceFunc = kw.DoWorkPieceFunc

// See package skew.
const _ = skew.UpgradeAllModulesOfKingletTogether1
