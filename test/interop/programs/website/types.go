package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of Website.
var GroupVersion = schema.GroupVersion{Group: "web.example.com", Version: "v1"}

// Resource is where Websites are found.
var Resource = GroupVersion.WithResource("websites")

// Website is a custom resource: so many pods that serve an image.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is what is wanted.
type Spec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

// Status is what there is.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	AvailableReplicas  int32 `json:"availableReplicas"`
	// Message says what is in the way, if anything is.
	Message string `json:"message,omitempty"`
}

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Website `json:"items"`
}

// DeepCopy returns a Website that shares nothing with w.
func (w *Website) DeepCopy() *Website {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = make([]Website, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopy()
	}
	return &c
}

// AddToScheme makes a scheme know Websites.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
