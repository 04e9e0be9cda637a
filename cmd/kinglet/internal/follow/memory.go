package follow

import "runtime/metrics"

// memory is what the process uses, in bytes.
type memory struct {
	heap uint64 // objects, dead ones included until they are swept
	rss  uint64 // 0 where the system does not say
}

// readMemory costs microseconds and stops nothing.
func readMemory() memory {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	m := memory{rss: residentSet()}
	if samples[0].Value.Kind() == metrics.KindUint64 {
		m.heap = samples[0].Value.Uint64()
	}
	return m
}
