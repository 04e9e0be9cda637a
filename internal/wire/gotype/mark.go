package gotype

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
)

// always are the paths that cannot be dropped: an object's identity and versions, whose
// it is, by which labels it is selected, and what still holds it.
var always = []string{
	"apiVersion", "kind",
	"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
	"metadata.labels", "metadata.ownerReferences",
	"metadata.finalizers", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
}

// Always reports whether a path leads to, or into, what cannot be dropped.
func Always(path string) bool {
	return slices.ContainsFunc(always, func(a string) bool { return within(path, a) })
}

// refuseAlways returns a *PathError for a path that leads to, or into, what cannot be
// dropped.
func refuseAlways(typ reflect.Type, paths []string) error {
	for _, p := range paths {
		i := slices.IndexFunc(always, func(a string) bool { return within(a, p) || within(p, a) })
		if i >= 0 {
			return &PathError{Type: typ, Path: p, verb: "drop", reason: fmt.Sprintf("every object needs its %q", always[i])}
		}
	}
	return nil
}

// within reports that a path leads to the field of another, or into it.
func within(path, other string) bool { return strings.HasPrefix(path+".", other+".") }

// managedFields may be missing when an object is written back: the server keeps them.
const managedFields = "metadata.managedFields"

// mark is the annotations of objects that are not whole. Objects of one plan share them, so
// that a program which writes to them, as it must not, changes no objects of others.
type mark struct {
	typed   map[string]string
	untyped map[string]any
}

func newMark() *mark {
	return &mark{map[string]string{objectmeta.PartialAnnotation: ""}, map[string]any{objectmeta.PartialAnnotation: ""}}
}

// marked returns d for objects that are marked as not whole.
func (d *Drops) marked() *Drops {
	link := tree([]string{"metadata." + selfLink}, false)
	link.kids[0].inside.mark = newMark()
	return d.and(link)
}

const selfLink, annotations = "selfLink", "annotations"

// Marks reports that objects with this metadata are marked as not whole.
func (d *Drops) Marks() bool { return d != nil && d.mark != nil }

// MarkNames returns the names in metadata that come from the mark.
func (d *Drops) MarkNames() []string {
	if !d.Marks() {
		return nil
	}
	if _, free := d.Of(annotations); free {
		return markNames[:]
	}
	return markNames[:1]
}

var markNames = [...]string{selfLink, annotations}

// Mark marks an object as not whole if this is the metadata of such, and if it has a name.
// The mark shares memory with others, unless own is set.
func (d *Drops) Mark(m *metav1.ObjectMeta, own bool) {
	if !d.Marks() {
		return
	}
	link, all := objectmeta.Partial, d.mark.typed
	switch {
	case m.Name == "":
		link, all = "", nil
	case own:
		all = newMark().typed
	}
	m.SetSelfLink(link)
	if len(d.MarkNames()) > 1 {
		m.Annotations = all
	}
}

// partial is boxed once for all objects.
var partial any = objectmeta.Partial

// MarkUntyped is Mark for a map.
func (d *Drops) MarkUntyped(m map[string]any, own bool) {
	if !d.Marks() {
		return
	}
	if name, _ := m["name"].(string); name == "" {
		return
	}
	m[selfLink] = partial
	switch {
	case len(d.MarkNames()) < 2:
	case own:
		m[annotations] = newMark().untyped
	default:
		m[annotations] = d.mark.untyped
	}
}
