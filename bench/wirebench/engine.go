package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	uns "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// The engines' names, as they are printed.
const (
	clientGo = "client-go"
	kinglets = "kinglet"
	drain    = "drain"
)

// engine starts an informer of all pods, whose handlers are the audience's.
type engine func(ctx context.Context, s *setup, cfg *rest.Config, a *audience) (running, error)

var engines = map[string]engine{clientGo: startClientGo, kinglets: startKinglet}

// running is an informer at work.
type running interface {
	// get returns what the store holds under a key; nil if nothing.
	get(namespace, name string) metav1.Object
	// len is how many objects the store holds.
	len() int
	// stop returns when everything has ended.
	stop()
}

// The indexes that every informer has: by namespace, and by node, or by
// application where the node is not known.
const (
	byNamespace = "namespace"
	secondIndex = "node or application"
)

func nodeOf(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }

func nodeOfUnstructured(u *uns.Unstructured) []string {
	node, _, _ := uns.NestedString(u.Object, "spec", "nodeName")
	return []string{node}
}

func appOf(m *metav1.PartialObjectMetadata) []string {
	return []string{m.Labels["app.kubernetes.io/name"]}
}

// config is that of a client of at, for a setup.
func config(s *setup, at replay.Endpoint) *rest.Config {
	cfg := &rest.Config{Host: at.Plain, QPS: -1}
	if s.Transport == http2 {
		cfg.Host = at.Secure
		cfg.CAData = at.CA
	}
	cfg.Host += "/" + string(s.Encoding)
	cfg.ContentType = s.Encoding.MediaType()
	return cfg
}
