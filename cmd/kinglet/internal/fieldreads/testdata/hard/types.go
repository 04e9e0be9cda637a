package hard

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unnamed has a part whose type has no name.
type Unnamed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		A, B string
	} `json:"spec"`
	Other string `json:"other"`
}

// Generic has a part of any type.
type Generic[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec  S      `json:"spec"`
	Other string `json:"other"`
}

// Tree has nodes in nodes.
type Tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Node `json:"spec"`
}

// Node is part of a Tree.
type Node struct {
	Value    string `json:"value"`
	Other    string `json:"other"`
	Children []Node `json:"children"`
}

// Flat has the fields of its parts.
type Flat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Common `json:",inline"`
	Other  string `json:"other"`
}

// Common is part of a Flat.
type Common struct {
	corev1.LocalObjectReference `json:",inline"`

	Selector *metav1.LabelSelector `json:"selector"`
}

// Promoted has the methods of its part.
type Promoted struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Settings `json:"settings"`
	Other    string `json:"other"`
}

// Settings is part of a Promoted.
type Settings struct{ A, B string }

// Text has all of it.
func (s Settings) Text() string { return fmt.Sprint(s) }
