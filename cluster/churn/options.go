package churn

import (
	"errors"
	"fmt"
	"math"
)

// Options configure New. The zero value keeps nothing and does nothing.
type Options struct {
	// Deployments to keep, spread over Namespaces, with about Replicas pods
	// each: scaling moves between half and one and a half of it. Replicas 0
	// means 3, Namespaces 0 means one for every ten deployments.
	Deployments int
	Replicas    int
	Namespaces  int

	// Rate is how many operations there are a second. 0 means none once the
	// deployments exist.
	Rate float64

	// Seed decides about the operations' order.
	Seed uint64

	// OnError is told about operations that failed; the next one is tried as
	// if nothing had happened. Called from Run. nil means that nobody is told.
	OnError func(error)
}

func (o *Options) validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{{"Deployments", o.Deployments}, {"Replicas", o.Replicas}, {"Namespaces", o.Namespaces}} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("churn: %s is %d, must not be negative", n.name, n.value))
		}
	}
	return errors.Join(append(errs, validateRate(o.Rate))...)
}

func validateRate(rate float64) error {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		return fmt.Errorf("churn: rate is %v, must be a number of operations a second", rate)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Replicas == 0 {
		o.Replicas = 3
	}
	if o.Namespaces == 0 {
		o.Namespaces = (o.Deployments + 9) / 10
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}
