package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// hasStatus reports whether /status is served.
func (r *Resource) hasStatus() bool {
	if r.custom() {
		return r.Status
	}
	return statusField(r.newObject()).IsValid()
}

// statusField is the field Status of a typed object.
func statusField(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// copyStatus gives to the status of from, which it shares.
func copyStatus(to, from runtime.Object) {
	u, ok := to.(*unstructured.Unstructured)
	if !ok {
		statusField(to).Set(statusField(from))
		return
	}
	if status, ok := from.(*unstructured.Unstructured).Object["status"]; ok {
		u.Object["status"] = status
	} else {
		delete(u.Object, "status")
	}
}

// counted are the kinds whose strategies count generations, by group: grep "Generation = 1" in
// k8s.io/kubernetes/pkg/registry. A CSIDriver begins at 0.
var counted = map[string]string{
	"":                             "Pod PodTemplate ReplicationController",
	"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
	"apps":                         "DaemonSet Deployment ReplicaSet StatefulSet",
	"batch":                        "CronJob Job",
	"discovery.k8s.io":             "EndpointSlice",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"networking.k8s.io":            "Ingress IngressClass NetworkPolicy",
	"policy":                       "PodDisruptionBudget",
	"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourceSlice",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver",
}

// generations reports whether a server counts the changes of what is desired.
func (r *Resource) generations() bool {
	return r.custom() || slices.Contains(strings.Fields(counted[r.Group]), r.Kind)
}

// sameDesired reports whether nothing differs that raises the generation.
func (r *Resource) sameDesired(a, b runtime.Object) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqual(r.desired(u), r.desired(b.(*unstructured.Unstructured)))
	}
	return equality.Semantic.DeepEqual(desiredOf(a), desiredOf(b))
}

// desiredOf returns the fields that say what is desired: of the kinds that have a generation,
// some have no Spec.
func desiredOf(obj runtime.Object) (parts []any) {
	v := reflect.ValueOf(obj).Elem()
	for _, name := range []string{"Spec", "Template", "Webhooks", "Endpoints", "Ports", "AddressType"} {
		if f := v.FieldByName(name); f.IsValid() {
			parts = append(parts, f.Interface())
		}
	}
	if v.FieldByName("Endpoints").IsValid() {
		parts = append(parts, metaOf(obj).GetLabels()) // of an EndpointSlice
	}
	if _, ok := obj.(*appsv1.Deployment); ok {
		parts = append(parts, metaOf(obj).GetAnnotations()) // its ReplicaSets get them
	}
	return parts
}

func (r *Resource) desired(u *unstructured.Unstructured) map[string]any {
	desired := map[string]any{}
	for k, v := range u.Object {
		if k != "metadata" && (k != "status" || !r.Status) {
			desired[k] = v
		}
	}
	return desired
}

// conditional reports whether a server refuses an update that names no version: of a built-in
// kind if AllowUnconditionalUpdate of its strategy in k8s.io/kubernetes/pkg/registry returns false.
func (r *Resource) conditional() bool {
	switch r.Group {
	case "admissionregistration.k8s.io", "coordination.k8s.io", "internal.apiserver.k8s.io", "node.k8s.io", "storagemigration.k8s.io":
		return true
	case "policy":
		return r.Kind == "PodDisruptionBudget"
	case "certificates.k8s.io":
		return r.Kind != "CertificateSigningRequest"
	case "resource.k8s.io":
		return r.Kind == "ResourcePoolStatusRequest"
	case "storage.k8s.io":
		return r.Kind == "VolumeAttachment" || strings.HasPrefix(r.Kind, "CSI")
	}
	return r.custom()
}

// returned are the kinds whose deletes return the object, though it is gone: grep
// ReturnDeletedObject in k8s.io/kubernetes/pkg/registry.
const returned = "CSIDriver CSINode DeviceClass DeviceTaintRule Namespace PersistentVolume PersistentVolumeClaim Pod PodTemplate ResourceClaim ResourceClaimTemplate ResourcePoolStatusRequest ResourceQuota ResourceSlice Service ServiceAccount StorageClass VolumeAttachment VolumeAttributesClass"

// returnsDeleted reports whether the answer to a delete is the object, and not a Status.
func (r *Resource) returnsDeleted() bool {
	return !r.custom() && slices.Contains(strings.Fields(returned), r.Kind)
}

// intent returns what the request wants of the Storage.
func (c *call) intent() intent {
	return intent{resource: c.Resource, dry: c.dry, status: c.status, prepare: func(r *Resource, obj, old runtime.Object) error {
		if old == nil {
			return r.prepareCreate(obj, c.version)
		}
		return r.prepareUpdate(obj, old, c.status, c.version)
	}}
}

// prepareCreate does what a server's strategy does before a create, as far as it is the same
// for every kind.
func (r *Resource) prepareCreate(obj runtime.Object, v Version) error {
	m := metaOf(obj)
	if r.hasStatus() && r.Kind != "Node" {
		copyStatus(obj, r.newObject())
	}
	if errs := r.otherKind(obj); len(errs) > 0 {
		return r.invalid(m, errs)
	}
	m.SetManagedFields(managed(m.GetManagedFields(), nil))
	path := field.NewPath("metadata")
	errs := v.ownerErrors(validation.ValidateObjectMetaAccessor(m, !r.ClusterScoped, r.nameRule(v), path))
	return r.invalid(m, append(errs, r.unqualified(m, path)...))
}

// managed returns the managed fields of a request, or those from before if a server cannot decode
// them: DecodeManagedFields in k8s.io/apimachinery/pkg/util/managedfields/internal.
func managed(fields, was []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if slices.ContainsFunc(fields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate ||
			e.APIVersion == "" || e.FieldsType != "FieldsV1"
	}) {
		return was
	}
	return fields
}

// otherKind returns the errors of a custom resource with the apiVersion or kind of another.
func (r *Resource) otherKind(obj runtime.Object) (errs field.ErrorList) {
	is := obj.GetObjectKind().GroupVersionKind()
	if r.custom() && is.Kind != r.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), is.Kind, "must be "+r.Kind))
	}
	if r.custom() && is.GroupVersion() != r.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), is.GroupVersion().String(), "must be "+r.GroupVersion().String()))
	}
	return errs
}

// prepareUpdate does what a server's strategy does before an update: one of /status changes
// nothing else, and any other leaves the status alone.
func (r *Resource) prepareUpdate(obj, old runtime.Object, status bool, v Version) error {
	m, was := metaOf(obj), metaOf(old)
	if m.GetResourceVersion() == "" {
		if r.conditional() {
			return apierrors.NewInvalid(schema.GroupKind{Group: r.Group, Kind: r.Resource}, m.GetName(), field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
			})
		}
		m.SetResourceVersion(was.GetResourceVersion())
	}
	switch {
	case status:
		r.keepDesired(obj, old)
	case r.hasStatus():
		copyStatus(obj, old)
	}
	m.SetManagedFields(managed(m.GetManagedFields(), was.GetManagedFields()))
	path := field.NewPath("metadata")
	errs := v.ownerErrors(validation.ValidateObjectMetaAccessorUpdate(m, was, path))
	return r.invalid(m, append(append(errs, r.otherKind(obj)...), r.unqualified(m, path)...))
}

// unqualified are the finalizers that built-in kinds do not take, except those that leave the
// validation of metadata to apimachinery: grep ValidateObjectMeta in k8s.io/kubernetes/pkg/apis.
func (r *Resource) unqualified(m metav1.Object, path *field.Path) (errs field.ErrorList) {
	lenient := []string{"admissionregistration.k8s.io", "coordination.k8s.io", "node.k8s.io", "policy"}
	if r.custom() || slices.Contains(lenient, r.Group) || r.Group == "" && r.Kind == "Event" {
		return nil
	}
	for i, f := range m.GetFinalizers() {
		switch {
		case strings.Contains(f, "/"), f == metav1.FinalizerOrphanDependents, f == metav1.FinalizerDeleteDependents, f == "kubernetes":
		default:
			errs = append(errs, field.Invalid(path.Child("finalizers").Index(i), f, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// guarded are the kinds of which /status changes no metadata: grep ResetObjectMetaForStatus in
// k8s.io/kubernetes/pkg/registry, and "ObjectMeta = old".
const guarded = "DeviceTaintRule FlowSchema PodCertificateRequest PodGroup PriorityLevelConfiguration ResourceClaim ResourcePoolStatusRequest ServiceCIDR StorageVersion StorageVersionMigration ValidatingAdmissionPolicy VolumeAttachment"

// keepDesired takes all but the status and the metadata from old, and the metadata as well if
// the kind protects it, as every custom resource does.
func (r *Resource) keepDesired(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		next := old.DeepCopyObject().(*unstructured.Unstructured)
		copyStatus(next, u)
		u.Object = next.Object
		return
	}
	m, was := metaOf(obj), metaOf(old)
	switch {
	case slices.Contains(strings.Fields(guarded), r.Kind):
		metav1.ResetObjectMetaForStatus(m, was)
	case r.Kind == "Deployment":
		m.SetLabels(was.GetLabels())
	case r.Kind == "Pod":
		m.SetOwnerReferences(was.GetOwnerReferences())
	}
	next := reflect.ValueOf(old.DeepCopyObject()).Elem()
	for _, name := range []string{"ObjectMeta", "Status"} {
		next.FieldByName(name).Set(reflect.ValueOf(obj).Elem().FieldByName(name))
	}
	reflect.ValueOf(obj).Elem().Set(next)
}

func (r *Resource) invalid(m metav1.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(r.internalKind(), m.GetName(), errs)
}

// writeOptions reads and checks the options of a write.
func (c *call) writeOptions(r *http.Request) error {
	q := r.URL.Query()
	var errs field.ErrorList
	var dry []string
	var kind string
	var err error
	switch c.Verb {
	case "create":
		kind = "CreateOptions"
		if _, err := serializerOf(r.Header.Get("Content-Type")); err != nil {
			return err
		}
		var o metav1.CreateOptions
		err = metav1.Convert_url_Values_To_v1_CreateOptions(&q, &o, nil)
		dry, c.validation, errs = o.DryRun, o.FieldValidation, metavalidation.ValidateCreateOptions(&o)
	case "update":
		kind = "UpdateOptions"
		var o metav1.UpdateOptions
		err = metav1.Convert_url_Values_To_v1_UpdateOptions(&q, &o, nil)
		dry, c.validation, errs = o.DryRun, o.FieldValidation, metavalidation.ValidateUpdateOptions(&o)
	case "patch":
		kind = "PatchOptions"
		var o metav1.PatchOptions
		err = metav1.Convert_url_Values_To_v1_PatchOptions(&q, &o, nil)
		dry, c.validation, errs = o.DryRun, o.FieldValidation, metavalidation.ValidatePatchOptions(&o, patchType(r))
	default:
		return nil
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	c.dry = slices.Contains(dry, metav1.DryRunAll)
	return nil
}

// readDelete reads the options of a delete from its body, or else from its query.
func (c *call) readDelete(r *http.Request) (opts metav1.DeleteOptions, err error) {
	body, err := readBody(r)
	if err != nil {
		return opts, err
	}
	query := r.URL.Query()
	if len(body) > 0 {
		info, err := serializerOf(r.Header.Get("Content-Type"))
		if err != nil {
			return opts, err
		}
		if err := decodeDelete(info.MediaType, body, &opts); err != nil {
			return opts, apierrors.NewBadRequest(err.Error())
		}
	} else if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&query, &opts, nil); err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	if errs := metavalidation.ValidateDeleteOptions(&opts); len(errs) > 0 {
		return opts, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	c.dry = slices.Contains(opts.DryRun, metav1.DryRunAll)
	return opts, nil
}

// decodeDelete reads the options of a delete with a real server's codecs, which accept them in
// any group and version: typed clients send them in those of the resource.
func decodeDelete(mediaType string, body []byte, opts *metav1.DeleteOptions) error {
	info, _ := runtime.SerializerInfoForMediaType(metascheme.Codecs.SupportedMediaTypes(), mediaType)
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, _, err := metascheme.Codecs.DecoderToVersion(info.Serializer, gvk.GroupVersion()).Decode(body, &gvk, opts)
	if err == nil && obj != opts {
		err = errors.New("decoded object cannot be converted to DeleteOptions")
	}
	return err
}

// converted are the kinds whose field labels are converted by a function of their own: grep
// AddFieldLabelConversionFunc in k8s.io/kubernetes/pkg/apis.
const converted = "CertificateSigningRequest ClusterTrustBundle Event Job Namespace Node Pod PodCertificateRequest ReplicationController ResourceSlice Secret Service"

// knownFields refuses a field selector on a field that the resource does not have.
func (c *call) knownFields() error {
	r := &c.resource
	known := r.fieldsOf(r.newObject())
	own := r.custom() || slices.Contains(strings.Fields(converted), r.Kind)
	if own && r.ClusterScoped {
		delete(known, "metadata.namespace")
	}
	for _, req := range c.fields.Requirements() {
		if _, ok := known[req.Field]; ok {
			continue
		}
		words := "field label not supported: " + req.Field
		switch kind := r.gvk().GroupKind().String(); {
		case kind == "Job.batch":
			words = fmt.Sprintf("field label %q not supported for Job", req.Field)
		case kind == "ResourceSlice.resource.k8s.io":
			words = fmt.Sprintf("field label not supported for %s: %s", r.gvk(), req.Field)
		case !own && r.Fields == nil:
			words = fmt.Sprintf("%q is not a known field selector: only %q, %q", req.Field, "metadata.name", "metadata.namespace")
		}
		return apierrors.NewBadRequest(words)
	}
	return nil
}
