package apiserver

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// patch changes an object by the body of a request: a merge patch (RFC 7386), a JSON patch
// (RFC 6902), or a strategic merge patch of a kind of client-go's own. An apply is a merge
// here, and creates the object if there is none.
func (s *Server) patch(r *http.Request, c *call) (obj runtime.Object, code int, err error) {
	b, err := readBody(r)
	if err != nil {
		return nil, 0, err
	}
	media := patchType(r)
	change := c.changeOf(media, b)
	for {
		was, err := s.storage.get(c.Resource, c.key(), math.MaxInt64)
		store := s.storage.update
		if code = http.StatusOK; apierrors.IsNotFound(err) && media == types.ApplyYAMLPatchType && !c.status {
			was, store, code = c.resource.newObject(), s.storage.create, http.StatusCreated
		} else if err != nil {
			return nil, 0, err
		}
		next, err := c.patched(was, change)
		if err != nil {
			return nil, 0, err
		}
		if err := c.addressed(metaOf(next)); err != nil {
			return nil, 0, err
		}
		if uid := metaOf(next).GetUID(); code == http.StatusCreated && uid != "" {
			return nil, 0, apierrors.NewConflict(c.resource.GroupResource(), c.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		if uid := metaOf(was).GetUID(); uid != metaOf(next).GetUID() && uid != "" && metaOf(next).GetUID() != "" {
			if !c.status || !c.resource.custom() {
				return nil, 0, c.resource.invalid(metaOf(next), field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), metaOf(next).GetUID(), "field is immutable")})
			}
			metaOf(next).SetUID(uid)
		}
		if code == http.StatusCreated {
			metaOf(next).SetResourceVersion("")
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
	switch media {
	case types.JSONPatchType:
		return func(was []byte) ([]byte, error) {
			if err := c.strictly(body, &[]jsonPatchOp{}); err != nil {
				return nil, err
			}
			p, err := jsonpatch.DecodePatch(body)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			out, err := p.Apply(was)
			if err != nil {
				return nil, unprocessable(err)
			}
			return out, nil
		}
	case types.StrategicMergePatchType:
		return func(was []byte) ([]byte, error) {
			var fields, change map[string]any
			if err := json.Unmarshal(body, &change); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			if err := c.strictly(body, &change); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(was, &fields); err != nil {
				return nil, err
			}
			delete(change, "kind") // the Go type has it
			delete(change, "apiVersion")
			out, err := strategicpatch.StrategicMergeMapPatch(fields, change, c.resource.newObject())
			if err != nil {
				return nil, unmerged(err)
			}
			return json.Marshal(out)
		}
	default:
		return func(was []byte) ([]byte, error) {
			change, err := body, error(nil)
			if media == types.ApplyYAMLPatchType {
				change, err = c.applied(body)
			}
			if err != nil {
				return nil, err
			}
			if err := c.strictly(change, &map[string]any{}); err != nil {
				return nil, err
			}
			if change, err = jsonpatch.MergePatch(was, change); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return change, nil
		}
	}
}

// applied returns the object of an apply in JSON. It has to be one by itself: applyPatcher in
// k8s.io/apiserver/pkg/endpoints/handlers, and k8s.io/apimachinery/pkg/util/managedfields.
func (c *call) applied(body []byte) ([]byte, error) {
	var u unstructured.Unstructured
	if err := yaml.Unmarshal(body, &u.Object); err != nil {
		return nil, apierrors.NewBadRequest("error decoding YAML: " + err.Error())
	}
	switch gvk := u.GroupVersionKind(); {
	case gvk != c.resource.gvk():
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %v", gvk))
	case u.GetManagedFields() != nil:
		return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	case u.GetName() == "" && !c.resource.custom():
		return nil, c.addressed(&u)
	}
	return yaml.YAMLToJSON(body)
}

// patchType is the type of a patch; parameters of a Content-Type mean nothing.
func patchType(r *http.Request) types.PatchType {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return types.PatchType(media)
}

// takesPatch refuses a patch of a type that the resource does not take.
func (c *call) takesPatch(r *http.Request) error {
	media := patchType(r)
	accepted := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	if c.resource.custom() {
		accepted = slices.Delete(accepted, 2, 3)
	}
	switch {
	case c.Verb != "patch", slices.Contains(accepted, media):
		return nil
	case c.resource.custom():
		return unsupported(fmt.Sprintf(unknownFormat+"%s, %s, %s", accepted[0], accepted[1], accepted[2]), nil)
	}
	return unsupported("415: Unsupported Media Type", &metav1.StatusDetails{})
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
	next, _, err := c.decode(runtime.ContentTypeJSON, b)
	if err != nil {
		return nil, invalidPatch(err)
	}
	return next, nil
}

// jsonPatchOp is one operation of a JSON patch. Errors of a real server have its name.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// strictly decodes a patch to see whether it can be, and has nothing twice where the request
// is strict.
func (c *call) strictly(body []byte, into any) error {
	if c.validation == metav1.FieldValidationIgnore {
		return nil
	}
	twice, err := kjson.UnmarshalStrict(body, into)
	switch {
	case err != nil:
		return apierrors.NewBadRequest("error decoding patch: " + err.Error())
	case len(twice) > 0 && c.validation == metav1.FieldValidationStrict:
		return invalidPatch(runtime.NewStrictDecodingError(twice))
	}
	return nil
}

// unmerged is the answer to a strategic merge patch that cannot be merged:
// interpretStrategicMergePatchError in k8s.io/apiserver/pkg/endpoints/handlers.
func unmerged(err error) error {
	switch err {
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return apierrors.NewBadRequest(err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return unprocessable(err)
	}
	return err
}

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func invalidPatch(err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), "", err.Error())})
}
