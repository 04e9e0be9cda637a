package website

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/cache"
)

// Controller keeps a Deployment for every Website of a namespace.
type Controller struct {
	// Sites and Deployments are what the controller knows. Handlers may be
	// added to them at any time.
	Sites, Deployments cache.SharedIndexInformer

	kube        kubernetes.Interface
	sites       rest.Interface
	deployments appslisters.DeploymentLister
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// New returns a controller of one namespace, which does nothing until Run.
func New(kube kubernetes.Interface, sites rest.Interface, namespace string) (*Controller, error) {
	all := fields.Everything()
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	c := &Controller{
		Sites: cache.NewSharedIndexInformer(
			cache.NewListWatchFromClient(sites, Resource.Resource, namespace, all), &Website{}, 0, byNamespace),
		Deployments: cache.NewSharedIndexInformer(
			cache.NewListWatchFromClient(kube.AppsV1().RESTClient(), "deployments", namespace, all), &appsv1.Deployment{}, 0, byNamespace),
		kube:  kube,
		sites: sites,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	c.deployments = appslisters.NewDeploymentLister(c.Deployments.GetIndexer())
	_, err := c.Sites.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, site any) { c.enqueue(site) },
		DeleteFunc: c.enqueue,
	})
	if err != nil {
		return nil, fmt.Errorf("website: %w", err)
	}
	_, err = c.Deployments.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueueOwner,
		UpdateFunc: func(_, d any) { c.enqueueOwner(d) },
		DeleteFunc: c.enqueueOwner,
	})
	if err != nil {
		return nil, fmt.Errorf("website: %w", err)
	}
	return c, nil
}

// ErrNotSynced says that a controller was stopped before it knew everything.
var ErrNotSynced = errors.New("website: stopped before the informers had synced")

// Run works until ctx ends, and returns when everything that it started has
// ended.
func (c *Controller) Run(ctx context.Context, workers int) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	running.Go(func() { c.Sites.RunWithContext(ctx) })
	running.Go(func() { c.Deployments.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.Sites.HasSynced, c.Deployments.HasSynced) {
		return ErrNotSynced
	}
	for range workers {
		running.Go(func() { c.work(ctx) })
	}
	<-ctx.Done()
	return nil
}

// enqueue takes a Website, or what stands for a deleted one.
func (c *Controller) enqueue(obj any) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		panic(fmt.Sprintf("BUG: website: an informer of Websites delivered %T: %v", obj, err))
	}
	c.queue.Add(name)
}

// enqueueOwner takes a Deployment, or what stands for a deleted one.
func (c *Controller) enqueueOwner(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	d := obj.(*appsv1.Deployment)
	name := cache.ObjectName{Namespace: d.Namespace, Name: d.Name}
	if owner := metav1.GetControllerOf(d); owner != nil {
		if owner.Kind != "Website" {
			return
		}
		name.Name = owner.Name
	}
	// One of nobody's may be in a Website's way.
	c.queue.Add(name)
}
