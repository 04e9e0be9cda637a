package prometheus

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// InformerID has the methods of client-go's cache.InformerNameAndResource.
type InformerID interface {
	Name() string
	GroupVersionResource() schema.GroupVersionResource
	Reserved() bool
}

// Observer has the method of client-go's cache.HistogramMetric.
type Observer interface{ Observe(float64) }

// InformerMetricsProvider is a cache.InformerMetricsProvider, an interface that client-go
// has since 0.36. Its type parameters are types of that version, so that this package
// works with older ones as well.
type InformerMetricsProvider[ID InformerID, H Observer] struct{ clientGo *ClientGo }

// InformerMetrics returns c as the provider of client-go's informers, and of kinglet/cache's:
//
//	cache.SetInformerMetricsProvider(prometheus.InformerMetrics[cache.InformerNameAndResource, cache.HistogramMetric](c))
func InformerMetrics[ID InformerID, H Observer](c *ClientGo) InformerMetricsProvider[ID, H] {
	return InformerMetricsProvider[ID, H]{c}
}

func informerKey(id InformerID) seriesKey {
	r := id.GroupVersionResource()
	return seriesKey{id.Name(), r.Group, r.Version, r.Resource}
}

// NewQueuedItemMetric and the methods that follow implement cache.InformerMetricsProvider.
// The series ends when id's name is released.
func (p InformerMetricsProvider[ID, H]) NewQueuedItemMetric(id ID) cache.GaugeMetric {
	return p.clientGo.queuedItems.add(informerKey(id), id.Reserved)
}

func (p InformerMetricsProvider[ID, H]) NewProcessingLatencyMetric(id ID) H {
	// H is an interface of the one method that durations has.
	return any(p.clientGo.latency.add(informerKey(id), id.Reserved)).(H)
}

func (p InformerMetricsProvider[ID, H]) NewStoreResourceVersionMetric(id ID) cache.GaugeMetric {
	return p.clientGo.storeVersion.add(informerKey(id), id.Reserved)
}
