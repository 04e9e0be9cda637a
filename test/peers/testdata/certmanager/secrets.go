// This file takes the place of cert-manager's core_filteredsecrets.go: one informer on
// demand instead of an informer of labelled Secrets, another of the metadata of all others,
// and a lister over both.

package informers

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kubeinformers "k8s.io/client-go/informers"
	certificatesv1 "k8s.io/client-go/informers/certificates/v1"
	networkingv1informers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

type onDemandFactory struct {
	kubeinformers.SharedInformerFactory
	ctx     context.Context
	secrets *kinglet.OnDemand[*corev1.Secret]
}

func NewFilteredSecretsKubeInformerFactory(ctx context.Context, client kubernetes.Interface, _ metadata.Interface, resync time.Duration, namespace string) KubeInformerFactory {
	secrets, err := kinglet.NewOnDemand(func(o source.Options) (source.Source[*corev1.Secret], error) {
		o.Namespace, o.Drop = namespace, []string{source.DropManagedFields}
		return source.FromREST[*corev1.Secret](client.CoreV1().RESTClient(), "secrets", o)
	}, kinglet.OnDemandOptions[*corev1.Secret]{
		WholeLabels: labels.SelectorFromSet(labels.Set{cmapi.PartOfCertManagerControllerLabelKey: "true"}),
	})
	if err != nil {
		panic(err)
	}
	return &onDemandFactory{kubeinformers.NewSharedInformerFactoryWithOptions(client, resync, kubeinformers.WithNamespace(namespace)), ctx, secrets}
}

func (f *onDemandFactory) Start(stop <-chan struct{}) {
	f.SharedInformerFactory.Start(stop)
	go func() {
		if err := f.secrets.Run(f.ctx); err != nil && !errors.Is(err, context.Canceled) {
			logf.FromContext(f.ctx).Error(err, "the informer of Secrets has ended")
		}
	}()
}

func (f *onDemandFactory) WaitForCacheSync(stop <-chan struct{}) map[string]bool {
	synced := map[string]bool{"Secret": cache.WaitForCacheSync(stop, f.secrets.HasSynced)}
	for key, ok := range f.SharedInformerFactory.WaitForCacheSync(stop) {
		synced[key.String()] = ok
	}
	return synced
}

func (f *onDemandFactory) Ingresses() networkingv1informers.IngressInformer {
	return f.Networking().V1().Ingresses()
}

func (f *onDemandFactory) CertificateSigningRequests() certificatesv1.CertificateSigningRequestInformer {
	return f.Certificates().V1().CertificateSigningRequests()
}

func (f *onDemandFactory) Secrets() SecretInformer { return onDemandSecrets{f.ctx, f.secrets} }

type onDemandSecrets struct {
	ctx     context.Context
	secrets *kinglet.OnDemand[*corev1.Secret]
}

func (s onDemandSecrets) Informer() Informer   { return s }
func (s onDemandSecrets) Lister() SecretLister { return s }
func (s onDemandSecrets) HasSynced() bool      { return s.secrets.HasSynced() }

// told returns what handlers are given. Of a Secret that is not whole this is its metadata,
// as in the informers that this replaces; most handlers ignore it.
func told(secret *corev1.Secret) metav1.Object {
	if source.IsPartial(secret) {
		return &metav1.PartialObjectMetadata{ObjectMeta: secret.ObjectMeta}
	}
	return secret
}

func (s onDemandSecrets) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	_, err := s.secrets.AddHandler(kinglet.HandlerFuncs[*corev1.Secret]{
		OnAdd:    func(_ context.Context, secret *corev1.Secret, initial bool) { handler.OnAdd(told(secret), initial) },
		OnUpdate: func(_ context.Context, old, secret *corev1.Secret) { handler.OnUpdate(told(old), told(secret)) },
		OnDelete: func(_ context.Context, deleted kinglet.DeletedObject[*corev1.Secret]) {
			handler.OnDelete(told(deleted.Object))
		},
	}, kinglet.HandlerOptions{})
	return nil, err // as the informer that this replaces
}

func (s onDemandSecrets) Secrets(namespace string) corev1listers.SecretNamespaceLister {
	return onDemandLister{s, namespace}
}

type onDemandLister struct {
	onDemandSecrets
	namespace string
}

func (l onDemandLister) Get(name string) (*corev1.Secret, error) {
	return l.secrets.Get(l.ctx, kinglet.Key{Namespace: l.namespace, Name: name})
}

func (l onDemandLister) List(selector labels.Selector) (all []*corev1.Secret, err error) {
	for secret := range l.secrets.Snapshot().Prefix(kinglet.Key{Namespace: l.namespace}) {
		if !selector.Matches(labels.Set(secret.Labels)) {
			continue
		}
		secret, err := l.Get(secret.Name)
		if apierrors.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, secret)
	}
	return all, nil
}
