package website

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// NewClient returns a REST client of Websites, as a generated clientset has one
// for each group.
func NewClient(cfg *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("website: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath = "/apis"
	cfg.GroupVersion = &GroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(cfg)
}

// updateStatus writes the status of site, and fails if somebody else wrote to
// site meanwhile.
func updateStatus(ctx context.Context, client rest.Interface, site *Website) error {
	return client.Put().Namespace(site.Namespace).Resource(Resource.Resource).Name(site.Name).
		SubResource("status").Body(site).Do(ctx).Error()
}
