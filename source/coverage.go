package source

import (
	gotext "encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Coverage is whether an object belongs to a collection.
type Coverage uint8

const (
	// CoverageUnknown: only the server knows. A field selector names a field that the object
	// does not have, or whose text is not certain.
	CoverageUnknown Coverage = iota
	// Covered: it does.
	Covered
	// NotCovered: it does not, because of its labels, fields, name or namespace.
	NotCovered
)

// covers returns whether namespace and selectors select an object, as far as its
// metadata and fields tell; field may be nil. It returns most if they do.
func (o *Options) covers(m metav1.Object, field func(path string) (string, bool), most Coverage) (Coverage, error) {
	if o.Namespace != "" && m.GetNamespace() != o.Namespace {
		return NotCovered, fmt.Errorf("%w: it is in namespace %q, and the collection of %q", ErrNotCovered, m.GetNamespace(), o.Namespace)
	}
	byLabels, byFields, err := o.selectors()
	if err != nil {
		return CoverageUnknown, err
	}
	switch selected, known := objectmeta.Selected(m, byLabels, byFields, field); {
	case !known:
		return CoverageUnknown, nil
	case !selected:
		return NotCovered, nil
	}
	return most, nil
}

// selectors returns the selectors of requests.
func (o *Options) selectors() (byLabels labels.Selector, byFields fields.Selector, err error) {
	var errs [2]error
	if byLabels, err = labels.Parse(o.LabelSelector); err != nil {
		errs[0] = fmt.Errorf("label selector %q: %w", o.LabelSelector, err)
	}
	if byFields, err = fields.ParseSelector(o.FieldSelector); err != nil {
		errs[1] = fmt.Errorf("field selector %q: %w", o.FieldSelector, err)
	}
	return byLabels, byFields, errors.Join(errs[:]...)
}

// whole reports whether objects leave the collection only by being deleted: no selector
// depends on what an update changes.
func (o *Options) whole() bool {
	byLabels, byFields, err := o.selectors()
	return err == nil && byLabels.Empty() && !slices.ContainsFunc(byFields.Requirements(), func(r fields.Requirement) bool { return !objectmeta.IsField(r.Field) })
}

// fieldsOf returns the fields of an object by their paths, as an answer has them. A field that
// is absent is not known: for some, a server selects by a default, or by another field.
func fieldsOf(a *Answer, obj any) func(path string) (value string, known bool) {
	content := sync.OnceValue(func() (content map[string]any) {
		u, ok := obj.(*unstructured.Unstructured)
		switch {
		case a.Object == nil && encoding.Of(a.Body[0]) == encoding.JSON:
			_ = utiljson.Unmarshal(a.Body, &content) // it was decoded before
		case ok:
			content = u.Object
		}
		return content
	})
	return func(path string) (string, bool) {
		names := strings.Split(path, ".")
		if content() == nil {
			return textOf(reflect.ValueOf(obj), names)
		}
		switch value, _, _ := unstructured.NestedFieldNoCopy(content(), names...); value.(type) {
		case string, bool, int64:
			return fmt.Sprint(value), true
		}
		return "", false
	}
}

// textOf returns the text that a server has for a field of a Go value. It is not known for
// zero, which may stand for nothing, and where a type has an encoder of its own, which may
// write what the server has in another way, such as 1m0s for 60s.
func textOf(v reflect.Value, path []string) (text string, known bool) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() || v.IsZero() || encodesItself(v.Type()) {
		return "", false
	}
	if len(path) == 0 {
		switch {
		case v.Kind() == reflect.String:
			return v.String(), true
		case v.Kind() == reflect.Bool:
			return strconv.FormatBool(v.Bool()), true
		case v.CanInt():
			return strconv.FormatInt(v.Int(), 10), true
		}
		return "", false
	}
	t, err := gotype.Of(v.Type())
	if err != nil || v.Kind() != reflect.Struct {
		return "", false
	}
	for _, m := range t.Members() {
		if m.Name == path[0] && !m.Odd {
			return textOf(v.FieldByIndex(m.Index), path[1:])
		}
	}
	return "", false
}

func encodesItself(typ reflect.Type) bool {
	typ = reflect.PointerTo(typ)
	return typ.Implements(reflect.TypeFor[json.Marshaler]()) || typ.Implements(reflect.TypeFor[gotext.TextMarshaler]())
}
