package apiserver

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// maxBody is the largest body of a request, as on a real server.
const maxBody = 3 << 20

func readBody(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	return b, nil
}

// mediaTypes are those of a real server for anything but a watch.
const mediaTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf"

// serializerOf returns the serializer of a media type. The error is 415.
func serializerOf(contentType string) (runtime.SerializerInfo, error) {
	media, _, err := mime.ParseMediaType(cmp.Or(contentType, runtime.ContentTypeJSON))
	if err == nil && strings.Contains(mediaTypes, media) {
		if info, ok := runtime.SerializerInfoForMediaType(codecs().SupportedMediaTypes(), media); ok {
			return info, nil
		}
	}
	return runtime.SerializerInfo{}, unsupported(unknownFormat+mediaTypes, nil)
}

const unknownFormat = "the body of the request was in an unknown format - accepted media types include: "

func unsupported(message string, details *metav1.StatusDetails) error {
	return refusal(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, message, details)
}

// refusal is an error that apimachinery has no constructor for.
func refusal(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message, Details: details}}
}

// protobuf is implemented by the built-in kinds, which a real server stores in it: empty lists
// and maps are nil afterwards.
type protobuf interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// decode returns the object that a body describes, and the kind that the body names. The object
// is of the Go type of the resource. A custom resource may still be of another kind, which
// otherKind refuses.
func (c *call) decode(contentType string, body []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	info, err := serializerOf(contentType)
	if err != nil {
		return nil, nil, err
	}
	want, serializer := c.resource.gvk(), info.StrictSerializer
	if c.validation == metav1.FieldValidationIgnore {
		serializer = info.Serializer
	}
	obj, gvk, err := serializer.Decode(body, &want, c.resource.newObject())
	var unknown []error // fields, and what is there twice
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		unknown = strict.Errors()
	} else if err != nil {
		return nil, gvk, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		dropped, err := coerce(u)
		if err != nil {
			return nil, gvk, err
		}
		unknown = append(unknown, dropped...)
	} else if gvk.GroupKind() != want.GroupKind() {
		return nil, gvk, fmt.Errorf("converting (%s) to (%s): unknown conversion", strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"), c.resource.internalType())
	}
	if p, ok := obj.(protobuf); ok {
		b, err := p.Marshal()
		if err != nil {
			return nil, gvk, err
		}
		obj = c.resource.newObject()
		if err := obj.(protobuf).Unmarshal(b); err != nil {
			return nil, gvk, err
		}
	}
	switch {
	case len(unknown) > 0 && c.validation == metav1.FieldValidationStrict:
		return nil, gvk, runtime.NewStrictDecodingError(unknown)
	case gvk.GroupVersion() != want.GroupVersion() && (c.Verb != "patch" || !c.resource.custom()):
		return nil, gvk, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", gvk.GroupVersion(), want.GroupVersion()))
	}
	return obj, gvk, nil
}

// undecodable is the answer to a body that decode refuses.
func (c *call) undecodable(err error, gvk *schema.GroupVersionKind, body []byte) error {
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		return err
	}
	if gvk != nil && gvk.Kind != "" {
		as := c.resource.Kind
		if c.resource.custom() && runtime.IsStrictDecodingError(err) {
			as = gvk.Kind // it has been decoded into an object of any kind
		}
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, as, err))
	}
	shown := "%.30x"
	if bytes.HasPrefix(body, []byte("{")) {
		shown = "%.30s"
	}
	if len(body) > 30 {
		shown += " ..."
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.resource.Kind, err, cmp.Or(fmt.Sprintf(shown, body), "<empty>")))
}

// taken returns a copy of an object as it is stored. As on a real server, a typed object is
// stored without its apiVersion and kind, equal owner references are stored once, a Secret
// has its stringData in data, and a custom resource has no Go type.
func (r *Resource) taken(obj runtime.Object) (runtime.Object, metav1.Object, error) {
	obj = obj.DeepCopyObject()
	if _, ok := obj.(*unstructured.Unstructured); !ok && r.custom() {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(r.gvk())
		obj = u
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	if err := mergeStringData(obj); err != nil {
		return nil, nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if _, err := coerce(u); err != nil {
			return nil, nil, err
		}
	} else {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	var owners []metav1.OwnerReference
	for _, o := range m.GetOwnerReferences() {
		if !slices.ContainsFunc(owners, func(same metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(o, same) }) {
			owners = append(owners, o)
		}
	}
	m.SetOwnerReferences(owners)
	return obj, m, nil
}

// stored changes obj to what is read back after it was stored. A custom resource is stored as
// JSON, in which a number without a fraction is read as an integer.
func stored(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		integers(u.Object)
	}
	return obj
}

func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = integers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = integers(e)
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	}
	return value
}

// mergeStringData moves the stringData of a Secret over its data: Convert_v1_Secret_To_core_Secret
// in k8s.io/kubernetes/pkg/apis/core/v1.
func mergeStringData(obj runtime.Object) (err error) {
	switch o := obj.(type) {
	case *corev1.Secret:
		if o.Data == nil && len(o.StringData) > 0 {
			o.Data = map[string][]byte{}
		}
		for k, v := range o.StringData {
			o.Data[k] = []byte(v)
		}
		o.StringData = nil
	case *unstructured.Unstructured:
		if o.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
			break
		}
		var values map[string]string
		values, _, err = unstructured.NestedStringMap(o.Object, "stringData")
		for k, v := range values {
			err = errors.Join(err, unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString([]byte(v)), "data", k))
		}
		delete(o.Object, "stringData")
	}
	return err
}

// coerce reduces the metadata of a custom resource to the fields of ObjectMeta, and returns
// errors that name the others.
func coerce(u *unstructured.Unstructured) (dropped []error, err error) {
	metadata, ok := u.Object["metadata"]
	if !ok {
		return nil, nil
	}
	b, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	var m metav1.ObjectMeta
	unknown, err := kjson.UnmarshalStrict(b, &m)
	if err != nil {
		return nil, err
	}
	for _, err := range unknown {
		if f, ok := err.(kjson.FieldError); ok {
			dropped = append(dropped, fmt.Errorf(`unknown field "metadata.%s"`, f.FieldPath()))
		}
	}
	u.Object["metadata"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&m)
	return dropped, err
}

// internalType is the name of the Go type that a real server has of the resource.
func (r *Resource) internalType() string {
	if r.custom() {
		return "unstructured.Unstructured"
	}
	group, _, _ := strings.Cut(cmp.Or(r.internalKind().Group, "core"), ".")
	return group + "." + r.Kind
}

// internalKind is the kind that a real server has of the resource, and names in errors: events
// of both groups are one.
func (r *Resource) internalKind() schema.GroupKind {
	if r.Group == "events.k8s.io" {
		return schema.GroupKind{Kind: r.Kind}
	}
	return r.gvk().GroupKind()
}
