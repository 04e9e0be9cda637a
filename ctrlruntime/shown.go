package ctrlruntime

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
)

// showLocked makes Options.Set show the informer of a holding. c.mu is held.
func (c *Cache) showLocked(h *holding) {
	h.hide = func() {}
	if c.options.Set != nil && !c.stopped {
		h.hide = c.options.Set.Observe(h.informer.Kinglet())
	}
}

// Status returns the status of each informer of a cache that NewCache made, by name.
// The error is a *ForeignCacheError for another cache.
func Status(c cache.Cache) ([]kinglet.Status, error) {
	ours, ok := c.(*Cache)
	if !ok {
		return nil, &ForeignCacheError{Cache: c}
	}
	var all []kinglet.Status
	seen := map[*holding]bool{}
	for _, k := range ours.all() {
		if !seen[k.holding] {
			seen[k.holding] = true
			all = append(all, k.informer.Kinglet().Status())
		}
	}
	slices.SortFunc(all, func(a, b kinglet.Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
