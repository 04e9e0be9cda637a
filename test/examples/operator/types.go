package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion is the one in definition.yaml.
var groupVersion = schema.GroupVersion{Group: "example.kinglet.dev", Version: "v1alpha1"}

// Notebook is an image that runs with the settings of a ConfigMap.
type Notebook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              NotebookSpec   `json:"spec"`
	Status            NotebookStatus `json:"status,omitempty"`
}

type NotebookSpec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
	// Settings is the name of a ConfigMap in the namespace.
	Settings string `json:"settings"`
}

type NotebookStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
	// Settings is the version of the ConfigMap that the notebook runs with.
	Settings string `json:"settings,omitempty"`
}

type NotebookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Notebook `json:"items"`
}

// The following is what controller-gen writes.

func (n *Notebook) DeepCopyInto(out *Notebook) {
	*out = *n
	n.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
}

func (n *Notebook) DeepCopy() *Notebook {
	out := &Notebook{}
	n.DeepCopyInto(out)
	return out
}

func (n *Notebook) DeepCopyObject() runtime.Object { return n.DeepCopy() }

func (l *NotebookList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Notebook, len(l.Items))
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return &out
}

// addToScheme registers the types.
func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Notebook{}, &NotebookList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
