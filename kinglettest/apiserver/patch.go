package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// patch merges the body of a request into an object (RFC 7386). An apply is a merge
// here, and creates the object if there is none.
func (s *Server) patch(r *http.Request, c *call) (obj runtime.Object, code int, err error) {
	media := types.PatchType(r.Header.Get("Content-Type"))
	switch media {
	case types.MergePatchType, types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
	default:
		return nil, 0, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", c.Resource, c.Name,
			fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s", types.MergePatchType, types.ApplyYAMLPatchType), 0, false)
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, 0, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	var change map[string]any
	if err := json.Unmarshal(b, &change); err != nil {
		return nil, 0, apierrors.NewBadRequest(err.Error())
	}
	for {
		was, err := s.get(c)
		store := s.storage.Update
		if code = http.StatusOK; apierrors.IsNotFound(err) && media != types.MergePatchType {
			was, store, code = c.resource.newObject(), s.storage.Create, http.StatusCreated
			metaOf(was).SetName(c.Name)
			metaOf(was).SetNamespace(c.Namespace)
		} else if err != nil {
			return nil, 0, err
		}
		next, err := c.merged(was, change)
		if err != nil {
			return nil, 0, apierrors.NewBadRequest(err.Error())
		}
		obj, err = store(next)
		named := change["metadata"]
		if m, _ := named.(map[string]any); apierrors.IsConflict(err) && m["resourceVersion"] == nil && m["uid"] == nil {
			continue // somebody else has written meanwhile
		}
		return obj, code, err
	}
}

// merged returns an object with a change merged into it.
func (c *call) merged(was runtime.Object, change map[string]any) (runtime.Object, error) {
	b, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, err
	}
	if b, err = json.Marshal(merge(fields, change)); err != nil {
		return nil, err
	}
	gvk := c.resource.gvk()
	next, _, err := scheme.Codecs.UniversalDeserializer().Decode(b, &gvk, c.resource.newObject())
	return next, err
}

// merge merges a change into fields, which it writes to.
func merge(fields, change map[string]any) map[string]any {
	for name, to := range change {
		within, isObject := to.(map[string]any)
		switch {
		case to == nil:
			delete(fields, name)
		case isObject:
			held, _ := fields[name].(map[string]any)
			if held == nil {
				held = map[string]any{}
			}
			fields[name] = merge(held, within)
		default:
			fields[name] = to
		}
	}
	return fields
}

// removeAll deletes what a request selects, and returns what that was before.
func (s *Server) removeAll(c *call) (runtime.Object, error) {
	all, _ := s.storage.List(c.Resource)
	var gone []runtime.Object
	for _, obj := range all {
		if !c.selects(obj) {
			continue
		}
		if _, err := s.storage.Delete(c.Resource, keyOf(obj), nil); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		gone = append(gone, obj)
	}
	return c.form.list(&c.resource, gone, metav1.ListMeta{})
}
