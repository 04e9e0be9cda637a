package source

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
)

// covers returns whether the selectors select an object, as far as its metadata
// tells. It returns most if they do.
func (o *Options) covers(m metav1.Object, most Coverage) (Coverage, error) {
	lo := metav1.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector}
	if o.Modify != nil {
		o.Modify(&lo)
	}
	byLabels, err := labels.Parse(lo.LabelSelector)
	if err != nil {
		return CoverageUnknown, fmt.Errorf("label selector %q: %w", lo.LabelSelector, err)
	}
	byFields, err := fields.ParseSelector(lo.FieldSelector)
	if err != nil {
		return CoverageUnknown, fmt.Errorf("field selector %q: %w", lo.FieldSelector, err)
	}
	switch selected, known := objectmeta.Selected(m, byLabels, byFields, nil); {
	case !known:
		return CoverageUnknown, nil
	case !selected:
		return NotCovered, nil
	}
	return most, nil
}
