package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// bySettings is the index of Notebooks by their ConfigMap.
	bySettings = "spec.settings"
	// finalizer keeps a deleted Notebook until its archive has been written.
	finalizer = "example.kinglet.dev/archive"
	// settingsVersion is an annotation of pods: changing it replaces them.
	settingsVersion = "example.kinglet.dev/settings"
)

// notebooks reconciles Notebooks.
type notebooks struct {
	client.Client
	events events.EventRecorder
}

// usersOf returns the Notebooks that use a ConfigMap.
func (n *notebooks) usersOf(ctx context.Context, settings client.Object) []reconcile.Request {
	var users NotebookList
	err := n.List(ctx, &users, client.InNamespace(settings.GetNamespace()), client.MatchingFields{bySettings: settings.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Notebooks of a ConfigMap")
		return nil
	}
	var requests []reconcile.Request
	for i := range users.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&users.Items[i])})
	}
	return requests
}

// Reconcile is called when a Notebook, its Deployment or its ConfigMap has changed, and
// again after an error.
func (n *notebooks) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	var notebook Notebook
	if err := n.Get(ctx, req.NamespacedName, &notebook); err != nil {
		return result, client.IgnoreNotFound(err)
	}
	if !notebook.DeletionTimestamp.IsZero() {
		return result, n.archive(ctx, &notebook)
	}
	if controllerutil.AddFinalizer(&notebook, finalizer) {
		if err := n.Update(ctx, &notebook); err != nil {
			return result, fmt.Errorf("add the finalizer: %w", err)
		}
	}
	var settings corev1.ConfigMap
	err = n.Get(ctx, types.NamespacedName{Namespace: notebook.Namespace, Name: notebook.Spec.Settings}, &settings)
	if apierrors.IsNotFound(err) {
		n.events.Eventf(&notebook, nil, corev1.EventTypeWarning, "NoSettings", "Reconcile", "there is no ConfigMap %s", notebook.Spec.Settings)
		return result, nil // it is watched
	}
	if err != nil {
		return result, err
	}
	deployment, err := n.deploy(ctx, &notebook, settings.ResourceVersion)
	if err != nil {
		return result, err
	}
	status := NotebookStatus{
		ObservedGeneration: notebook.Generation,
		ReadyReplicas:      deployment.Status.ReadyReplicas,
		Settings:           settings.ResourceVersion,
	}
	if status == notebook.Status {
		return result, nil
	}
	notebook.Status = status
	if err := n.Status().Update(ctx, &notebook); err != nil {
		return result, fmt.Errorf("write the status: %w", err)
	}
	return result, nil
}

// deploy creates the Notebook's Deployment, or updates it to match the Notebook.
func (n *notebooks) deploy(ctx context.Context, notebook *Notebook, settings string) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: notebook.Namespace, Name: notebook.Name}}
	did, err := controllerutil.CreateOrUpdate(ctx, n.Client, deployment, func() error {
		labels := map[string]string{"notebook": notebook.Name}
		if deployment.Spec.Selector == nil {
			deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			deployment.Spec.Template.Labels = labels
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "notebook"}}
		}
		deployment.Spec.Replicas = &notebook.Spec.Replicas
		deployment.Spec.Template.Annotations = map[string]string{settingsVersion: settings}
		deployment.Spec.Template.Spec.Containers[0].Image = notebook.Spec.Image
		return controllerutil.SetControllerReference(notebook, deployment, n.Scheme())
	})
	if err != nil {
		return nil, fmt.Errorf("write the Deployment: %w", err)
	}
	if did != controllerutil.OperationResultNone {
		n.events.Eventf(notebook, deployment, corev1.EventTypeNormal, "Deployed", "Reconcile", "the Deployment was %s", did)
	}
	return deployment, nil
}

// archive saves what a deleted Notebook was, and lets it go.
func (n *notebooks) archive(ctx context.Context, notebook *Notebook) error {
	if !controllerutil.ContainsFinalizer(notebook, finalizer) {
		return nil
	}
	archive := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: notebook.Namespace, Name: notebook.Name + "-archive"},
		Data:       map[string]string{"image": notebook.Spec.Image},
	}
	if err := n.Create(ctx, archive); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write the archive: %w", err)
	}
	controllerutil.RemoveFinalizer(notebook, finalizer)
	if err := n.Update(ctx, notebook); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("remove the finalizer: %w", err))
	}
	return nil
}
