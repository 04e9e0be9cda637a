//go:build e2e

package programs

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
	"github.com/kinglet-go/kinglet/test/interop/programs/website"
)

func testManager(t *testing.T, s *server, _ *kinglettest.Cluster) {
	ss := newSites(t, s, "managed")
	mgr := newManager(t, s, "managed")
	check(t, mgr.GetFieldIndexer().IndexField(s.ctx, &appsv1.Deployment{}, "image", func(obj client.Object) []string {
		return []string{obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image}
	}))
	check(t, ctrl.NewControllerManagedBy(mgr).
		For(&website.Website{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		// Names are the process's, so the test could run only once.
		WithOptions(controller.Options{SkipNameValidation: new(true)}).
		Complete(&reconciler{mgr.GetClient()}))
	websites, deployments := history.New("websites"), history.New("deployments")
	for obj, w := range map[client.Object]*history.History{&website.Website{}: websites, &appsv1.Deployment{}: deployments} {
		must(must(mgr.GetCache().GetInformer(s.ctx, obj)).AddEventHandler(history.Plain{History: w}))
	}

	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		check(t, <-ended)
	}()
	ss.play(t)

	ss.websites.settled(t, websites, func() []*website.Website {
		var list website.WebsiteList
		check(t, mgr.GetClient().List(ctx, &list, client.InNamespace("managed")))
		return pointers(list.Items)
	})
	ss.deployments.settled(t, deployments, func() []*appsv1.Deployment {
		var list appsv1.DeploymentList
		check(t, mgr.GetClient().List(ctx, &list))
		return pointers(list.Items)
	})
	// The ConfigMap of c went with the first c, and came again.
	notes := kind[corev1.ConfigMap]{s, configMaps, "managed"}
	for _, name := range []string{"b", "c", "d"} {
		site := ss.websites.follow(t, name, "there", func(w *website.Website) bool { return w != nil })
		notes.follow(t, name, "its Website's", func(cm *corev1.ConfigMap) bool { return cm != nil && metav1.IsControlledBy(cm, site) })
	}
	var third appsv1.DeploymentList
	check(t, mgr.GetClient().List(ctx, &third, client.InNamespace("managed"), client.MatchingFields{"image": "example.com/web:3"}))
	if len(third.Items) != 1 || third.Items[0].Name != "c" {
		t.Errorf("by image, there are %d Deployments, not c alone", len(third.Items))
	}
}

// newManager is a manager whose cache's informers are all made here.
func newManager(t *testing.T, s *server, namespace string) ctrl.Manager {
	t.Helper()
	all := runtime.NewScheme()
	check(t, scheme.AddToScheme(all))
	check(t, website.AddToScheme(all))
	cfg := rest.CopyConfig(s.config)
	cfg.Wrap(source.WrapTransport)
	return must(ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  all,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: ctrlcache.Options{
			NewInformer:       cache.NewSharedIndexInformer,
			DefaultNamespaces: map[string]ctrlcache.Config{namespace: {}},
		},
	}))
}

// reconciler is what website.Controller is, for controller-runtime, and keeps a
// ConfigMap beside each Deployment, of which it watches the metadata.
type reconciler struct {
	client.Client
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &website.Website{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.note(ctx, site); err != nil {
		return ctrl.Result{}, fmt.Errorf("note: %w", err)
	}
	d, err := r.bring(ctx, site)
	if err != nil && !errors.Is(err, website.ErrNotOwned) {
		return ctrl.Result{}, fmt.Errorf("bring: %w", err)
	}
	st := website.StatusOf(site, d, err)
	if st != site.Status {
		site.Status = st
		if err := r.Status().Update(ctx, site); err != nil {
			return ctrl.Result{}, fmt.Errorf("status: %w", err)
		}
	}
	if errors.Is(err, website.ErrNotOwned) {
		// Nobody's Deployment leads to no Website, so its end is not told.
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) bring(ctx context.Context, site *website.Website) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(site), d)
	if apierrors.IsNotFound(err) {
		d = website.NewDeployment(site)
		return d, r.Create(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	wanted, err := website.Brought(d, site)
	if err != nil || wanted == nil {
		return d, err
	}
	return wanted, r.Update(ctx, wanted)
}

// note creates the ConfigMap of site, if the cache of metadata has none.
func (r *reconciler) note(ctx context.Context, site *website.Website) error {
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := r.Get(ctx, client.ObjectKeyFromObject(site), have)
	if !apierrors.IsNotFound(err) {
		return err
	}
	cm := &corev1.ConfigMap{ObjectMeta: website.NewDeployment(site).ObjectMeta}
	return r.Create(ctx, cm)
}

func pointers[T any](items []T) []*T {
	var all []*T
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}
