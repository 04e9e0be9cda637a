//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	election "github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
)

// TestAStopInMidRunDrainsAndTheNextReplicaSeesTheLastWrite stops a replica while
// it runs a key, as SIGTERM does. The run ends as it would have, the Lease is free
// after it, and the replica that waits for it reads what that run wrote.
func TestAStopInMidRunDrainsAndTheNextReplicaSeesTheLastWrite(t *testing.T) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program})
	config := cluster.Config(t)
	client := kubernetes.NewForConfigOrDie(config)
	maps := client.CoreV1().ConfigMaps("default")
	value(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"test": "drain"}}}, metav1.CreateOptions{}))(t)

	const drain = 10 * time.Second
	began, stopped := make(chan struct{}), make(chan struct{})
	var written *corev1.ConfigMap
	first := newMapReplica(t, config, "first", func(ctx context.Context, held *corev1.ConfigMap) error {
		close(began)
		<-stopped
		select {
		case <-ctx.Done():
			return fmt.Errorf("cancelled %w", context.Cause(ctx))
		case <-time.After(drain / 4): // the run's own work, in the midst of which the stop comes
		}
		if holder := leaseHolder(t, client); holder != "first" {
			t.Errorf("%q holds the Lease while the first replica runs a key", holder)
		}
		update := held.DeepCopy()
		update.Data = map[string]string{"written": "by the first"}
		var err error
		written, err = maps.Update(ctx, update, metav1.UpdateOptions{})
		return err
	}, drain)
	read := make(chan *corev1.ConfigMap, 10)
	second := newMapReplica(t, config, "second", func(_ context.Context, held *corev1.ConfigMap) error {
		read <- held
		return nil
	}, drain)

	firstStop := first.start(t)
	<-began
	secondStop := second.start(t)
	must(t, second.informer.WaitSynced(t.Context()))
	firstEnded := firstStop()
	close(stopped)
	if err := firstEnded(); err != nil {
		t.Errorf("the first replica: %v", err)
	}
	if written == nil {
		t.Fatal("the run did not write: it was cancelled")
	}
	select {
	case held := <-read:
		if held.ResourceVersion != written.ResourceVersion {
			t.Errorf("the second replica's first run reads version %s, the last write is %s", held.ResourceVersion, written.ResourceVersion)
		}
	case <-time.After(time.Minute):
		t.Error("the second replica does not run")
	}
	if err := secondStop()(); err != nil {
		t.Errorf("the second replica: %v", err)
	}
	if holder := leaseHolder(t, client); holder != "" {
		t.Errorf("%q holds the Lease after the end", holder)
	}
}

func leaseHolder(t *testing.T, client kubernetes.Interface) string {
	l := value(client.CoordinationV1().Leases("default").Get(context.Background(), "drain", metav1.GetOptions{}))(t)
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// mapReplica is a replica of a program that reconciles ConfigMaps.
type mapReplica struct {
	informer   *kinglet.Informer[*corev1.ConfigMap]
	controller *controller.Controller[kinglet.Key]
}

func newMapReplica(t *testing.T, config *rest.Config, name string, reconcile func(context.Context, *corev1.ConfigMap) error, drain time.Duration) *mapReplica {
	src := value(source.FromConfig[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		source.Options{Namespace: "default", LabelSelector: "test=drain"}))(t)
	r := &mapReplica{informer: value(kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{}))(t)}
	elector := value(election.New(kubernetes.NewForConfigOrDie(config).CoordinationV1(), election.Options{
		Namespace: "default", Name: "drain", Identity: name,
	}))(t)
	r.controller = value(controller.New(controller.ReconcilerFunc[kinglet.Key](func(ctx context.Context, key kinglet.Key) (controller.Result, error) {
		held, ok := r.informer.Store().Get(key)
		if !ok {
			return controller.Result{}, nil
		}
		return controller.Result{}, reconcile(ctx, held)
	}), controller.Options[kinglet.Key]{Name: name, Elector: elector, Drain: drain, OnError: func(err error) { t.Error(err) }}))(t)
	value(controller.Watch(r.controller, r.informer, controller.Self))(t)
	return r
}

// start runs the replica until stop is called, which returns at once; what it
// returns waits for the end.
func (r *mapReplica) start(t *testing.T) (stop func() (wait func() error)) {
	informerContext, stopInformer := context.WithCancel(context.Background())
	informer := make(chan error, 1)
	go func() { informer <- r.informer.Run(informerContext) }()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.controller.Run(ctx) }()
	return func() func() error {
		cancel()
		return func() error {
			err := <-ended
			stopInformer()
			must(t, <-informer)
			return err
		}
	}
}
