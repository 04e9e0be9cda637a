//go:build e2e

package programs

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// testFactory lets a factory of client-go's start, wait for and stop informers
// that are made here, and reads them with generated listers, through rollouts
// and an outage of the API server. A factory with client-go's own informers
// runs beside it: in the end, both listers must say the same.
func testFactory(t *testing.T, s *server, cluster *kinglettest.Cluster) {
	cfg := rest.CopyConfig(s.config)
	cfg.Wrap(source.WrapTransport)
	client := kubernetes.NewForConfigOrDie(cfg)
	factory := informers.NewSharedInformerFactory(client, 0)
	podWitness, nodeWitness, deploymentWitness := history.New("pods"), history.New("nodes"), history.New("deployments")
	must(podInformer(factory).AddEventHandler(history.Plain{History: podWitness}))
	must(nodeInformer(factory).AddEventHandler(history.Plain{History: nodeWitness}))
	must(deploymentInformer(factory).AddEventHandler(history.Plain{History: deploymentWitness}))
	// From here on nothing differs from any other program.
	podLister := factory.Core().V1().Pods().Lister()
	nodeLister := factory.Core().V1().Nodes().Lister()
	deploymentLister := factory.Apps().V1().Deployments().Lister()
	generic := must(factory.ForResource(appsv1.SchemeGroupVersion.WithResource("deployments"))).Lister()

	reference := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(s.config), 0)
	referencePods := reference.Core().V1().Pods().Lister()

	ctx, stop := context.WithCancel(s.ctx)
	defer func() {
		stop()
		factory.Shutdown()
		reference.Shutdown()
	}()
	for _, f := range []informers.SharedInformerFactory{factory, reference} {
		f.StartWithContext(ctx)
		synced := f.WaitForCacheSyncWithContext(ctx)
		check(t, synced.Err)
	}

	s.createNamespace(t, "factory")
	all := kind[appsv1.Deployment]{s, deployments, "factory"}
	for i := range 3 {
		all.create(t, "apps/v1", "Deployment", newDeployment(fmt.Sprintf("web-%d", i), 10))
	}
	for i := range 3 {
		all.follow(t, fmt.Sprintf("web-%d", i), "available", available)
	}
	// In the midst of a rollout the API server is gone for a while.
	all.patch(t, "web-0", `{"spec":{"template":{"metadata":{"labels":{"round":"2"}}}}}`)
	check(t, cluster.Stop(kinglettest.APIServer))
	if pods := must(podLister.Pods("factory").List(labels.Everything())); len(pods) < 20 {
		t.Errorf("%d pods are left of 30 after an outage", len(pods))
	}
	check(t, cluster.Start(kinglettest.APIServer))
	all.patch(t, "web-1", `{"spec":{"replicas":5}}`)
	all.delete(t, "web-2")
	all.follow(t, "web-0", "available", available)
	all.follow(t, "web-1", "available", available)

	late := history.New("pods, late")
	must(factory.Core().V1().Pods().Informer().AddEventHandler(history.Plain{History: late}))
	check(t, late.Until(ctx, "alone with web-0 and web-1", func(last history.Objects) bool {
		n := 0
		for name := range last {
			if name.Namespace == "factory" {
				n++
			}
		}
		return n == 15
	}))
	truth := kind[corev1.Pod]{s, pods, ""}
	everyPod := func() []*corev1.Pod { return must(podLister.List(labels.Everything())) }
	truth.settled(t, podWitness, everyPod)
	truth.settled(t, late, everyPod)
	kind[corev1.Node]{s, nodes, ""}.settled(t, nodeWitness, func() []*corev1.Node { return must(nodeLister.List(labels.Everything())) })
	kind[appsv1.Deployment]{s, deployments, ""}.settled(t, deploymentWitness, func() []*appsv1.Deployment {
		return must(deploymentLister.List(labels.Everything()))
	})
	if objs := must(generic.ByNamespace("factory").List(labels.Everything())); len(objs) != 2 {
		t.Errorf("the generic lister has %d Deployments, not 2", len(objs))
	}
	byNode := must(factory.Core().V1().Pods().Informer().GetIndexer().ByIndex("node", ""))
	for _, obj := range byNode {
		t.Errorf("%s is on no node", obj.(*corev1.Pod).Name)
	}
	// client-go's own informer sees the same.
	referenceWitness := history.New("pods, client-go's")
	must(reference.Core().V1().Pods().Informer().AddEventHandler(history.Plain{History: referenceWitness}))
	truth.settled(t, referenceWitness, func() []*corev1.Pod { return must(referencePods.List(labels.Everything())) })
}
