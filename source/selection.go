package source

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/store"
)

// selection is which fields objects have.
type selection struct {
	// drops are what objects lack, and whole is Options.Whole: the objects that it chooses
	// lack only less.
	drops, less *gotype.Drops
	whole       func(key store.Key, labels map[string]string, owners []metav1.OwnerReference) bool
	// labels is Options.WholeLabels, if lists may ask for metadata; else nil.
	labels labels.Selector
}

// newSelection returns the selection of the options from the fields of a struct type.
func newSelection(elem reflect.Type, opts *Options) (s selection, err error) {
	keep := opts.Keep
	if s.whole = opts.chooses(); s.whole != nil {
		if len(keep) == 0 {
			// Without annotations, so that a server refuses what is written back.
			keep = []string{"metadata.creationTimestamp"}
		}
		if s.less, err = dropsOf(elem, nil, opts.Drop); err != nil {
			return s, err
		}
	}
	if s.drops, err = dropsOf(elem, keep, opts.Drop); err != nil {
		return s, err
	}
	if s.whole != nil && opts.WholeLabels != nil && opts.ofKind(elem) && !slices.ContainsFunc(keep, func(path string) bool { return !strings.HasPrefix(path+".", "metadata.") }) {
		s.labels = opts.WholeLabels
	}
	for _, path := range opts.Drop {
		if !strings.HasPrefix(path+".", DropManagedFields+".") && !marks(s.drops) {
			return s, fmt.Errorf("cannot drop %q of %v: its metadata is no metav1.ObjectMeta, which would say that it is not whole", path, elem)
		}
	}
	return s, nil
}

// dropsOf returns what objects of a type lack. They have all of their status or nothing of
// it, unless a server refuses an UpdateStatus with the mark of what is not whole. (With
// annotations there is no mark, and an Update removes as much.)
func dropsOf(elem reflect.Type, keep, drop []string) (*gotype.Drops, error) {
	d, err := gotype.DropsOf(elem, keep, drop)
	if err != nil || slices.Contains(refuseStatus[elem.PkgPath()], elem.Name()) {
		return d, err
	}
	ofStatus := func(path string) bool { return strings.HasPrefix(path, "status.") }
	if i := slices.IndexFunc(drop, ofStatus); i >= 0 {
		return nil, fmt.Errorf("cannot drop %q of %v: a server accepts an UpdateStatus of what lacks a part of its status, and removes that part; drop \"status\", or nothing of it", drop[i], elem)
	}
	if slices.ContainsFunc(keep, ofStatus) {
		return gotype.DropsOf(elem, append(slices.Clip(keep), "status"), drop)
	}
	return d, nil
}

// refuseStatus has the types, by package, of which API servers refuse an UpdateStatus with the
// mark. Of custom resources, and of most other types, they first restore the metadata.
var refuseStatus = map[string][]string{
	"k8s.io/api/apps/v1":        {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
	"k8s.io/api/autoscaling/v1": {"HorizontalPodAutoscaler"},
	"k8s.io/api/autoscaling/v2": {"HorizontalPodAutoscaler"},
	"k8s.io/api/batch/v1":       {"CronJob", "Job"},
	"k8s.io/api/core/v1":        {"Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "ReplicationController", "ResourceQuota", "Service"},
	"k8s.io/api/networking/v1":  {"Ingress"},
	"k8s.io/api/policy/v1":      {"PodDisruptionBudget"},
}

// chooses returns a function that chooses what Whole and WholeLabels do; nil if there is
// neither.
func (o *Options) chooses() func(key store.Key, labels map[string]string, owners []metav1.OwnerReference) bool {
	if o.WholeLabels == nil {
		return o.Whole
	}
	return func(key store.Key, set map[string]string, owners []metav1.OwnerReference) bool {
		return o.WholeLabels.Matches(labels.Set(set)) || o.Whole != nil && o.Whole(key, set, owners)
	}
}

// ofKind reports whether the kind of objects is known without their bytes: they have a Go
// type of their own, or the Example names it.
func (o *Options) ofKind(elem reflect.Type) bool {
	switch elem {
	case partialType.Elem():
		return false // there is nothing else to ask for
	case reflect.TypeFor[unstructured.Unstructured]():
		u, ok := o.Example.(*unstructured.Unstructured)
		return ok && u.GetKind() != "" && u.GetAPIVersion() != ""
	}
	return true
}

// marks reports that objects without what is dropped are marked as not whole.
func marks(d *gotype.Drops) bool {
	inside, _ := d.Of("metadata")
	return inside.Marks()
}

// leavesOut reports whether some objects lack fields.
func (o *Options) leavesOut() bool {
	return len(o.Keep)+len(o.Drop) > 0 || o.Whole != nil || o.WholeLabels != nil
}

// CheckFields returns the error of a path in Keep or Drop that objects of the type of
// example do not have, or cannot lack. It names the nearest that there is.
func (o Options) CheckFields(example any) error {
	if !o.leavesOut() {
		return nil
	}
	if typ := reflect.TypeOf(example); typ == nil || typ.Kind() != reflect.Pointer {
		return ErrNoExample
	}
	_, err := newSelection(reflect.TypeOf(example).Elem(), &o)
	return err
}

// IndexCheck returns Traits.CheckIndex for objects of the type of example. It returns a
// *LeftOutError for an index that reads a field which the options leave out of all objects.
// It calls the index with objects that have a value in every field, or in all but some, and
// cannot tell of a function that looks for values which these do not have. It is nil if
// nothing is left out but managed fields, and for unstructured objects.
func (o Options) IndexCheck(example any) func(index func(obj any) any) error {
	typ := reflect.TypeOf(example)
	if typ.Kind() != reflect.Pointer {
		return nil // the source has the error for that
	}
	typ = typ.Elem()
	s, err := newSelection(typ, &o)
	drops := s.drops
	if s.whole != nil {
		drops = s.less
	}
	if err != nil || !marks(drops) || typ == reflect.TypeFor[unstructured.Unstructured]() {
		return nil
	}
	return func(index func(obj any) any) error {
		if path := drops.Reads(typ, index); path != "" {
			return &LeftOutError{Path: path}
		}
		return nil
	}
}

// LeftOutError reports an index of a field that objects do not have.
type LeftOutError struct{ Path string }

func (e *LeftOutError) Error() string {
	return fmt.Sprintf("it reads %s, which is left out: name it in Keep, or not in Drop", e.Path)
}

// holdsWhole reports whether an object is held whole. The error may be a panic of Whole.
func (s *selection) holdsWhole(obj any) (bool, error) {
	return guard(func() (bool, error) {
		m, err := accessor(obj)
		if err != nil {
			return false, err
		}
		key := store.Key{Namespace: m.GetNamespace(), Name: m.GetName()}
		return s.whole(key, m.GetLabels(), m.GetOwnerReferences()), nil
	})
}

// of returns what an object is to lack.
func (s *selection) of(obj any) (*gotype.Drops, error) {
	if s.whole == nil {
		return s.drops, nil
	}
	whole, err := s.holdsWhole(obj)
	if whole {
		return s.less, err
	}
	return s.drops, err
}

// reduce removes from an object what it is to lack.
func (s *selection) reduce(obj any) error {
	drops, err := s.of(obj)
	if err == nil {
		drops.ClearObject(obj)
	}
	return err
}

// FillLeftOut is for tests of programs that set Keep, Drop or Whole: it gives the fields
// that are left out of an object values which no object has, such as the text
// "kinglet: this field is left out", so that a program which reads them notices. Call it of
// each object, by Map, or in a Transform. It does nothing to *unstructured.Unstructured.
func (o Options) FillLeftOut(obj any) error {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("a %T is no pointer to an object", obj)
	}
	s, err := newSelection(v.Type().Elem(), &o)
	if err != nil || v.Type() == reflect.TypeFor[*unstructured.Unstructured]() {
		return err
	}
	drops, err := s.of(obj)
	if err == nil {
		drops.Fill(v)
	}
	return err
}

// reduced is Traits.Reduce.
func (s *selection) reduced(obj any) (any, error) {
	c, err := official.Copy(obj.(runtime.Object))
	if err != nil {
		return nil, err
	}
	return c, s.reduce(c)
}
