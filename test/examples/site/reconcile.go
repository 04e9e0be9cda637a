package main

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
)

// finalizer keeps a deleted Site until its host name is free again. Deployments
// need none: they have an owner reference, and Kubernetes deletes them.
const finalizer = "example.kinglet.dev/host"

// sites reconciles Sites. It reads from informers, which show its own writes at once,
// and writes with clients.
type sites struct {
	sites       *kinglet.Informer[*Site]
	deployments *kinglet.Informer[*appsv1.Deployment]
	client      func(namespace string) *gentype.Client[*Site]
	kube        kubernetes.Interface
}

// Reconcile is called when a Site or one of its Deployments has changed, and again
// after an error.
func (s *sites) Reconcile(ctx context.Context, key kinglet.Key) (result controller.Result, err error) {
	site, ok := s.sites.Store().Get(key)
	if !ok {
		return result, nil // it was deleted, and the finalizer has done its work
	}
	if site.DeletionTimestamp != nil {
		return result, s.remove(ctx, site)
	}
	if !slices.Contains(site.Finalizers, finalizer) {
		site = site.DeepCopy() // what an informer returns is shared
		site.Finalizers = append(site.Finalizers, finalizer)
		if site, err = s.client(site.Namespace).Update(ctx, site, metav1.UpdateOptions{}); err != nil {
			return result, fmt.Errorf("add the finalizer: %w", err)
		}
	}
	if site.Status.ObservedGeneration == 0 { // it is new
		if err := s.claim(ctx, site); err != nil {
			return result, err
		}
	}
	deployment, err := s.deploy(ctx, site)
	if err != nil {
		return result, err
	}
	status := SiteStatus{ObservedGeneration: site.Generation, ReadyReplicas: deployment.Status.ReadyReplicas}
	if status == site.Status {
		return result, nil
	}
	site = site.DeepCopy()
	site.Status = status
	if _, err = s.client(site.Namespace).UpdateStatus(ctx, site, metav1.UpdateOptions{}); err != nil {
		return result, fmt.Errorf("write the status: %w", err)
	}
	return result, nil
}

// deploy creates the Site's Deployment, or updates it to match the Site.
func (s *sites) deploy(ctx context.Context, site *Site) (*appsv1.Deployment, error) {
	deployments := s.kube.AppsV1().Deployments(site.Namespace)
	labels := map[string]string{"site": site.Name}
	have, ok := s.deployments.Store().Get(kinglet.Key{Namespace: site.Namespace, Name: site.Name})
	want := have.DeepCopy()
	if !ok {
		want = &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: site.Namespace, Name: site.Name, Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(site, sitesResource.GroupVersion().WithKind("Site"))},
			},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "site"}}},
				},
			},
		}
	} else if !metav1.IsControlledBy(have, site) {
		return nil, controller.Terminal(fmt.Errorf("the Deployment %s belongs to somebody else", have.Name))
	}
	want.Spec.Replicas = &site.Spec.Replicas
	want.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
	var err error
	switch {
	case !ok:
		have, err = deployments.Create(ctx, want, metav1.CreateOptions{})
	case *have.Spec.Replicas != site.Spec.Replicas || have.Spec.Template.Spec.Containers[0].Image != site.Spec.Image:
		have, err = deployments.Update(ctx, want, metav1.UpdateOptions{})
	default:
		return have, nil
	}
	if err != nil {
		return nil, fmt.Errorf("write the Deployment: %w", err)
	}
	return have, nil
}

// claim reserves the host name for the Site: with a ConfigMap of that name, of which
// there can be only one.
func (s *sites) claim(ctx context.Context, site *Site) error {
	owner := site.Namespace + "/" + site.Name
	_, err := s.hosts().Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: site.Spec.Host},
		Data:       map[string]string{"site": owner},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	other, err := s.hosts().Get(ctx, site.Spec.Host, metav1.GetOptions{})
	if err == nil && other.Data["site"] != owner {
		return controller.Terminal(fmt.Errorf("the host name %s belongs to %s", site.Spec.Host, other.Data["site"]))
	}
	return err
}

// remove frees the host name of a Site that is being deleted, and then the Site.
func (s *sites) remove(ctx context.Context, site *Site) error {
	if !slices.Contains(site.Finalizers, finalizer) {
		return nil
	}
	host, err := s.hosts().Get(ctx, site.Spec.Host, metav1.GetOptions{})
	if err == nil && host.Data["site"] == site.Namespace+"/"+site.Name {
		err = s.hosts().Delete(ctx, host.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &host.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("free the host name: %w", err)
	}
	site = site.DeepCopy()
	site.Finalizers = slices.DeleteFunc(site.Finalizers, func(f string) bool { return f == finalizer })
	if _, err = s.client(site.Namespace).Update(ctx, site, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

func (s *sites) hosts() corev1client.ConfigMapInterface {
	return s.kube.CoreV1().ConfigMaps(metav1.NamespaceDefault)
}
