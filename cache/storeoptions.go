package cache

// storeConfig is what options say about a store.
type storeConfig struct {
	transform TransformFunc
	measured  bool
	name      InformerNameAndResource
	metrics   InformerMetricsProvider
}

// StoreOption is an option of NewStore and NewIndexer.
type StoreOption = func(*storeConfig)

// ThreadSafeStoreOption is an option of NewThreadSafeStore.
type ThreadSafeStoreOption = func(*storeConfig)

// WithTransformer makes a store change every object by a function before it
// is added, updated or part of a Replace. The key is the one before the
// change. If the function fails, nothing is stored, and the write returns the
// error.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(c *storeConfig) { c.transform = transformer }
}

// WithStoreMetrics makes a store report its resource version as a metric of
// that name, through the given provider or, if it is nil, the one of
// SetInformerMetricsProvider. A name that is not reserved has no metrics.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(c *storeConfig) { c.measured, c.name, c.metrics = true, identifier, metrics }
}

// WithThreadSafeStoreMetrics is WithStoreMetrics for a ThreadSafeStore.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, metricsProvider InformerMetricsProvider) ThreadSafeStoreOption {
	return WithStoreMetrics(identifier, metricsProvider)
}

// gauge returns the metric for the resource version, or nil.
func (c *storeConfig) gauge() GaugeMetric {
	if !c.measured || !c.name.Reserved() {
		return nil
	}
	provider := c.metrics
	if provider == nil {
		provider = informerMetricsProvider()
	}
	return provider.NewStoreResourceVersionMetric(c.name)
}
