package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// Lazy is an object whose readers write to it, in ways that are theirs alone to know: as
// protobuf messages do, a Quantity with its text, and a time with the location of the process.
type Lazy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              lazySpec `json:"spec"`
}

type lazySpec struct {
	Hosts []string           `json:"hosts,omitempty"`
	Limit *resource.Quantity `json:"limit,omitempty"`
	Since *metav1.Time       `json:"since,omitempty"`

	mu   sync.Mutex
	size int
	text *string
}

func (s *lazySpec) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == nil {
		s.text = new(fmt.Sprint(s.Hosts, s.Limit.String(), s.Since.UTC()))
	}
	s.size = len(*s.text)
	return *s.text
}

func (o *Lazy) DeepCopyObject() runtime.Object {
	c := &Lazy{TypeMeta: o.TypeMeta}
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	limit := o.Spec.Limit.DeepCopy()
	c.Spec.Hosts, c.Spec.Limit, c.Spec.Since = append([]string(nil), o.Spec.Hosts...), &limit, o.Spec.Since.DeepCopy()
	return c
}

var lazyGVR = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lazies"}

// A program may read objects on one goroutine while kinglet decodes their next versions,
// relists, checks consistency, detects writes and estimates memory. None of this races with
// the reader, and reading is reported neither as a difference nor as a write.
func TestWhoeverReadsAnObjectRacesWithNothing(t *testing.T) {
	storage := apiserver.NewStorage(apiserver.Resource{GroupVersionResource: lazyGVR, Kind: "Lazy"})
	object := func(n, version int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Lazy", "metadata": map[string]any{"namespace": "ns", "name": fmt.Sprint("n", n)},
			"spec": map[string]any{"hosts": []any{fmt.Sprint(version), "b"}, "limit": "0.5Gi", "since": "2026-11-25T10:00:00Z"},
		}}
	}
	for n := range 20 {
		must(storage.Put(object(n, 0)))
	}
	server := apiserver.New(storage, apiserver.Options{})
	t.Cleanup(server.Close)
	src := must(source.FromConfig[*Lazy](server.Config(), lazyGVR, source.Options{}))
	informer := must(kinglet.New(src, kinglet.Options[*Lazy]{
		OnError: func(err error) {
			var write *kinglet.MutationError
			var differs *kinglet.InconsistentError
			if errors.As(err, &write) || errors.As(err, &differs) {
				t.Error(err)
			}
		},
		MutationDetection: kinglet.MutationDetection{All: true, Interval: time.Millisecond},
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- informer.Run(ctx) }()
	if err := informer.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	var beside sync.WaitGroup
	beside.Go(func() {
		for ctx.Err() == nil {
			for obj := range informer.Store().All() {
				_ = obj.Spec.read()
				must(json.Marshal(obj.DeepCopyObject()))
			}
		}
	})
	beside.Go(func() {
		for ctx.Err() == nil {
			informer.Inspect()
			if report, err := informer.CheckConsistency(ctx); err == nil && report.Differences > 0 {
				t.Errorf("%d differences: %+v", report.Differences, report.Found)
			}
		}
	})
	for version := range 60 {
		must(storage.Put(object(version%10, version)))
		if version%20 == 0 {
			storage.Compact(storage.Revision())
			server.Disconnect()
		}
		time.Sleep(10 * time.Millisecond) // for the readers, which must be busy, as no bubble lets them be
	}
	stop()
	beside.Wait()
	<-ended
}
