package prometheus

import "github.com/prometheus/client_golang/prometheus"

// kind is the type of a metric.
type kind uint8

const (
	gauge kind = iota
	counter
	histogram
	summary
)

func (k kind) String() string { return [...]string{"gauge", "counter", "histogram", "summary"}[k] }

// tier says when a metric is served.
type tier uint8

const (
	// base: always served.
	base tier = iota
	// detailed: with Options.Detailed.
	detailed
)

// family is all series of one name.
type family struct {
	// id is its index in list.served.
	id     int
	desc   *prometheus.Desc
	kind   kind
	tier   tier
	name   string
	help   string
	labels []string
}

// list has families in the order in which they were defined. A family whose tier is not
// enabled is nil, and nothing is served under it.
type list struct {
	prefix  string
	enabled [detailed + 1]bool
	served  []*family
}

func (l *list) define(t tier, k kind, name, help string, labels ...string) *family {
	if !l.enabled[t] {
		return nil
	}
	name = l.prefix + name
	f := &family{id: len(l.served), desc: prometheus.NewDesc(name, help, labels, nil), kind: k, tier: t, name: name, help: help, labels: labels}
	l.served = append(l.served, f)
	return f
}

// families are what a Collector serves.
type families struct {
	list
	informer   informerFamilies
	handler    handlerFamilies
	sharing    sharingFamilies
	controller controllerFamilies
}

func newFamilies(opts Options) families {
	l := list{prefix: "kinglet_", enabled: [...]bool{base: true, detailed: opts.Detailed}}
	f := families{
		informer:   l.informers(),
		handler:    l.handlers(),
		sharing:    l.sharings(),
		controller: l.controllers(),
	}
	f.list = l
	return f
}
