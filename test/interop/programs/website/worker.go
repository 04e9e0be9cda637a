package website

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/cache"
)

// work takes names from the queue until it is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.sync(ctx, name); err == nil {
			c.queue.Forget(name)
		} else if ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("comes again", "website", name.String(), "err", err)
			c.queue.AddRateLimited(name)
		}
		c.queue.Done(name)
	}
}

// sync makes the world as the Website of that name wants it.
func (c *Controller) sync(ctx context.Context, name cache.ObjectName) error {
	obj, exists, err := c.Sites.GetIndexer().GetByKey(name.String())
	if err != nil {
		return fmt.Errorf("website %s: %w", name, err)
	}
	if !exists {
		// The garbage collector takes its Deployment.
		return nil
	}
	site := obj.(*Website)
	d, err := c.bring(ctx, site)
	if err != nil && !errors.Is(err, ErrNotOwned) {
		return fmt.Errorf("website %s: %w", name, err)
	}
	st := StatusOf(site, d, err)
	if st == site.Status {
		return nil
	}
	site = site.DeepCopy()
	site.Status = st
	if err := updateStatus(ctx, c.sites, site); err != nil {
		return fmt.Errorf("website %s: status: %w", name, err)
	}
	return nil
}

// bring creates or updates the Deployment of site.
func (c *Controller) bring(ctx context.Context, site *Website) (*appsv1.Deployment, error) {
	client := c.kube.AppsV1().Deployments(site.Namespace)
	d, err := c.deployments.Deployments(site.Namespace).Get(site.Name)
	if apierrors.IsNotFound(err) {
		return client.Create(ctx, NewDeployment(site), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	wanted, err := Brought(d, site)
	if err != nil || wanted == nil {
		return d, err
	}
	return client.Update(ctx, wanted, metav1.UpdateOptions{})
}
