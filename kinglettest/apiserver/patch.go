package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// patch changes an object by the body of a request: a merge patch (RFC 7386), a JSON patch
// (RFC 6902), or a strategic merge patch of a kind of client-go's scheme. An apply is a merge
// here, and creates the object if there is none.
func (s *Server) patch(r *http.Request, c *call) (obj runtime.Object, code int, err error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, 0, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	media := types.PatchType(r.Header.Get("Content-Type"))
	change := c.changeOf(media, b)
	for {
		was, err := s.get(c)
		store := s.storage.update
		if code = http.StatusOK; apierrors.IsNotFound(err) && media == types.ApplyYAMLPatchType && !c.status {
			was, store, code = c.resource.newObject(), s.storage.create, http.StatusCreated
			metaOf(was).SetName(c.Name)
			metaOf(was).SetNamespace(c.Namespace)
		} else if err != nil {
			return nil, 0, err
		}
		next, err := c.patched(was, change)
		if err != nil {
			return nil, 0, err
		}
		if m := metaOf(next); m.GetName() != c.Name || m.GetNamespace() != c.Namespace {
			return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), c.Name))
		}
		if uid := metaOf(was).GetUID(); uid != metaOf(next).GetUID() && uid != "" {
			if !c.status || !c.resource.custom() {
				return nil, 0, c.resource.invalid(metaOf(next), field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), metaOf(next).GetUID(), "field is immutable")})
			}
			metaOf(next).SetUID(uid)
		}
		obj, err = store(next, c.intent())
		asked := metaOf(was).GetResourceVersion() != metaOf(next).GetResourceVersion()
		if apierrors.IsConflict(err) && !asked {
			continue // somebody else has written meanwhile
		}
		return obj, code, err
	}
}

// changeOf returns what a body does to the JSON of an object. A body that cannot be read is an
// error of the function that it returns, since a server looks for the object first.
func (c *call) changeOf(media types.PatchType, body []byte) func(was []byte) ([]byte, error) {
	bad := func(err error) error { return apierrors.NewBadRequest("error decoding patch: " + err.Error()) }
	switch media {
	case types.JSONPatchType:
		return func(was []byte) ([]byte, error) {
			p, err := jsonpatch.DecodePatch(body)
			if err != nil {
				return nil, bad(err)
			}
			out, err := p.Apply(was)
			if err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
			}
			return out, nil
		}
	case types.StrategicMergePatchType:
		return func(was []byte) ([]byte, error) {
			var change map[string]any
			if err := json.Unmarshal(body, &change); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			out, err := strategicpatch.StrategicMergePatch(was, body, c.resource.newObject())
			if err != nil {
				return nil, bad(err)
			}
			return out, nil
		}
	default:
		return func(was []byte) ([]byte, error) {
			b, err := yaml.YAMLToJSON(body)
			var change, fields map[string]any
			if err == nil {
				err = json.Unmarshal(b, &change)
			}
			if err != nil {
				return nil, bad(err)
			}
			if err := json.Unmarshal(was, &fields); err != nil {
				return nil, err
			}
			return json.Marshal(merge(fields, change))
		}
	}
}

// patchType refuses a patch of a type that the resource does not take.
func (c *call) patchType(r *http.Request) error {
	media := types.PatchType(r.Header.Get("Content-Type"))
	accepted := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	st := metav1.Status{Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType}
	if c.resource.custom() {
		accepted = slices.Delete(accepted, 2, 3)
		st.Message = fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s, %s", accepted[0], accepted[1], accepted[2])
	} else {
		st.Message, st.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
	}
	if !slices.Contains(accepted, media) {
		return &apierrors.StatusError{ErrStatus: st}
	}
	return nil
}

// patched returns an object with a change made to its JSON.
func (c *call) patched(was runtime.Object, change func([]byte) ([]byte, error)) (runtime.Object, error) {
	gvk := c.resource.gvk()
	was = was.DeepCopyObject()
	was.GetObjectKind().SetGroupVersionKind(gvk)
	b, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	if b, err = change(b); err != nil {
		return nil, err
	}
	next, _, err := scheme.Codecs.UniversalDeserializer().Decode(b, &gvk, c.resource.newObject())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
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
