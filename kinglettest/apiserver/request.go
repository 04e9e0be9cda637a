package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// call is a parsed request.
type call struct {
	Request
	version Version
	// resource is what the Storage knows of it.
	resource Resource
	// status is set for /status: an update changes nothing else.
	status      bool
	subresource string
	// dry is set by dryRun=All: a write validates and answers, and changes nothing.
	dry bool
	// validation is the parameter fieldValidation of a write.
	validation string
	// sendInitialEvents is the option of a watch, with the server's default.
	sendInitialEvents *bool
	labels            labels.Selector
	fields            fields.Selector
	form              form
	fault             *Fault
}

// parse reads method, path and query of r. Its error is the answer.
func (s *Server) parse(r *http.Request) (*call, error) {
	c := &call{version: s.opts.Version}
	gv, err := c.path(r.URL.Path)
	if err != nil {
		return nil, err
	}
	if err := c.options(r.URL.Query()); err != nil {
		return nil, err
	}
	c.Verb = verb(r.Method, c.Name != "", c.Options.Watch)
	s.storage.mu.Lock()
	found := s.storage.resources[c.Resource]
	s.storage.mu.Unlock()
	if found == nil || found.GroupVersion() != gv {
		return nil, unknownPath()
	}
	c.resource = found.Resource
	switch {
	case c.resource.ClusterScoped && c.Namespace != "", !c.resource.ClusterScoped && c.Namespace == "" && c.Name != "":
		return nil, unknownPath()
	case c.subresource == "" || c.status && c.resource.hasStatus():
	case c.resource.custom():
		return nil, apierrors.NewNotFound(c.Resource, c.Name)
	default:
		return nil, unknownPath()
	}
	nowhere := !c.resource.ClusterScoped && c.Namespace == "" && c.Verb != "list" && c.Verb != "watch"
	switch {
	case nowhere && c.resource.custom():
		return nil, unknownPath()
	case nowhere, c.Verb == "", c.Verb == "create" && c.Name != "", c.status && c.Verb != "get" && c.Verb != "update" && c.Verb != "patch":
		if c.resource.custom() {
			return nil, apierrors.NewMethodNotSupported(c.Resource, c.Verb)
		}
		return nil, refusal(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource", &metav1.StatusDetails{})
	}
	if err := c.takesPatch(r); err != nil {
		return nil, err
	}
	if c.form, err = c.formOf(r.Header.Get("Accept")); err != nil {
		return nil, err
	}
	if err := c.writeOptions(r); err != nil {
		return nil, err
	}
	return c, c.knownFields()
}

// path parses a path such as /api/v1/namespaces/NS/pods/NAME.
func (c *call) path(path string) (gv schema.GroupVersion, err error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return gv, unknownPath()
	}
	if len(parts) >= 3 && parts[0] == "namespaces" && parts[2] != "status" { // which is that of a namespace
		c.Namespace, parts = parts[1], parts[2:]
	}
	c.Resource = schema.GroupResource{Group: gv.Group, Resource: parts[0]}
	if len(parts) > 1 {
		c.Name = parts[1]
	}
	if len(parts) > 3 {
		return gv, unknownPath()
	}
	if len(parts) == 3 {
		c.subresource = parts[2]
	}
	c.status = c.subresource == "status"
	return gv, nil
}

// unknownPath is the answer for a resource that is not served.
func unknownPath() error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "404 page not found", 0, true)
	err.ErrStatus.Message = "the server could not find the requested resource"
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// verb is "" for a method that no resource has. A create may have a name here.
func verb(method string, named, watch bool) string {
	switch {
	case method == http.MethodGet && named:
		return "get" // watch=true changes nothing: one object is watched by a field selector
	case method == http.MethodGet && watch:
		return "watch"
	case method == http.MethodGet:
		return "list"
	case method == http.MethodPost:
		return "create"
	case method == http.MethodPut && named:
		return "update"
	case method == http.MethodPatch && named:
		return "patch"
	case method == http.MethodDelete && named:
		return "delete"
	case method == http.MethodDelete:
		return "deletecollection"
	}
	return ""
}

// options reads the query, and checks what a real server checks of it.
func (c *call) options(query url.Values) (err error) {
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &c.Options, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if c.labels, err = labels.Parse(c.Options.LabelSelector); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if c.fields, err = fields.ParseSelector(c.Options.FieldSelector); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return c.validate(true)
}

// validate checks the options by apimachinery's own rules, and sets their
// default: both depend on whether the server answers watch-lists.
func (c *call) validate(watchLists bool) error {
	var opts internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&c.Options, &opts, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&opts, watchLists)
	c.sendInitialEvents = opts.SendInitialEvents
	if errs := validation.ValidateListOptions(&opts, watchLists); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return nil
}

// selects reports whether the request selects obj.
func (c *call) selects(obj runtime.Object) bool {
	m := metaOf(obj)
	if c.Namespace != "" && m.GetNamespace() != c.Namespace {
		return false
	}
	if !c.labels.Empty() && !c.labels.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	return c.fields.Empty() || c.fields.Matches(c.resource.fieldsOf(obj))
}

func (c *call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}
