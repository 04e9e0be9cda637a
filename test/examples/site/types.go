package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// sitesResource is the resource that definition.yaml defines.
var sitesResource = schema.GroupVersionResource{Group: "example.kinglet.dev", Version: "v1", Resource: "sites"}

// Site is a web site: an image that runs behind a host name.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec"`
	Status            SiteStatus `json:"status,omitempty"`
}

type SiteSpec struct {
	Host     string `json:"host"`
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

type SiteStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
}

func (s *Site) DeepCopy() *Site {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (s *Site) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// newSiteClient returns what client-gen would generate for sites.
func newSiteClient(cfg *rest.Config) (func(namespace string) *gentype.Client[*Site], error) {
	gv := sitesResource.GroupVersion()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(gv, &Site{})
	metav1.AddToGroupVersion(scheme, gv)
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion = "/apis", &gv
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return func(namespace string) *gentype.Client[*Site] {
		return gentype.NewClient(sitesResource.Resource, client, runtime.NewParameterCodec(scheme), namespace, func() *Site { return &Site{} })
	}, nil
}
