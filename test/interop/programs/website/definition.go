package website

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed definition.yaml
var definition []byte

// Definition is the custom resource definition of Website.
func Definition() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, yaml.Unmarshal(definition, &u.Object)
}
