package source

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/store"
)

const (
	// defaultMaxObjectBytes is forty times what etcd takes by default.
	defaultMaxObjectBytes = 64 << 20
	// maxMaxObjectBytes keeps the first byte of a protobuf frame's length
	// below 0x09, which is the smallest byte that JSON text can begin with,
	// so that one byte tells the two apart.
	maxMaxObjectBytes = 128 << 20
)

// Options fix which part of a collection a source covers. The zero value is all
// of it.
type Options struct {
	// Namespace limits the collection to one namespace. A ListerWatcher has
	// its namespace already, so FromListerWatcher refuses it.
	Namespace string
	// LabelSelector and FieldSelector are as kubectl takes them: "a=b,c in
	// (d,e)", "spec.nodeName=n1".
	LabelSelector string
	FieldSelector string
	// Name replaces the description that String returns.
	Name string
	// Example is an object of the type that objects are decoded into, for a T
	// that is an interface (any, runtime.Object, metav1.Object): &corev1.Pod{},
	// for example. Only its type matters, with two exceptions. If an
	// *unstructured.Unstructured has an apiVersion or a kind, objects of any
	// other kind become items with a *KindError; client-go's informers skip them
	// too. If a *metav1.PartialObjectMetadata has an apiVersion and a kind, each
	// object gets these instead of PartialObjectMetadata's.
	//
	// A T that is no interface needs no Example; one of another type is an
	// error. An interface T without an Example is ErrNoExample, except for
	// FromListerWatcher, which then takes any object, and does not intercept.
	Example runtime.Object
	// Scheme is asked for the kind of T, or of the Example. Without it, or if
	// the type is not in it, the kind is the name of the Go type, as it is for
	// every generated type.
	Scheme *runtime.Scheme
	// MaxObjectBytes is the most that one object may take on the wire, after
	// decompression; 0 means 64 MiB, and 128 MiB is the most. A source that is
	// given objects, not bytes, does not look at it.
	MaxObjectBytes int64
	// Keep names the fields that objects have, by path: "spec.nodeName",
	// "status.conditions", "spec.containers.image"; a path goes through lists, and through
	// the maps of a typed T, but not through those of an unstructured object, whose keys are
	// names like all others. All others are left out, except for what every object needs: apiVersion and kind, name,
	// namespace, UID, versions, labels, owner references, finalizers and the times of its
	// deletion. Empty means all fields. The bytes of what is left out are skipped, not
	// decoded; from an object that a client has decoded, such as a fake's, it is removed.
	//
	// A path that T does not have is an error; *unstructured.Unstructured has all.
	//
	// An object that lacks more than managed fields must not be written back: IsPartial
	// tells, and if annotations are left out, then a server refuses it, from any client.
	// Patch it, or get it live. A merge patch can set a field that is left out, but not
	// clear it: it is empty in the patch's base as well.
	//
	// A server accepts an UpdateStatus of such a custom resource, and so removes what it lacks
	// of the status. A path in a status therefore keeps all of it, unless T is of one of seventeen
	// built-in kinds, such as Pod, of which servers refuse this as they refuse an Update.
	Keep []string
	// Whole chooses objects that have all fields whatever Keep says, by their name, labels
	// and owners. If Keep is empty, the others have what every object needs, and
	// "metadata.creationTimestamp". It is called with every version
	// of an object, before anything else of it is decoded, from any number of goroutines
	// at once. It must depend on its arguments alone and not change them. If it panics,
	// the object becomes an item with the *PanicError.
	Whole func(key store.Key, labels map[string]string, owners []metav1.OwnerReference) bool
	// WholeLabels chooses objects by their labels, in addition to Whole; labels.Nothing
	// chooses none. If Keep is empty, or names only metadata, a list then requests the
	// metadata of all objects, in one page, and the chosen objects in a second request for
	// the same version. Objects that Whole alone chooses are requested by name, or with one
	// list of everything if there are more than 16. Watches still bring whole objects, and no
	// initial events are requested. Consistency checks request whole objects. A server that
	// does not support this is asked for whole objects, and so is one behind closures that
	// Intercept does not reach.
	WholeLabels labels.Selector
	// Drop names fields that are left out of what Keep leaves, in the same way:
	// "metadata.managedFields", "spec.containers.env". What every object needs cannot be
	// dropped, nor can a part of a status, except of the kinds described at Keep.
	Drop []string
	// Sharing is the Sharing of this source's objects; nil means the default one.
	Sharing *Sharing
	// DisableSharing decodes every object afresh, by apimachinery's decoders if
	// nothing is dropped: four to five times the memory, for programs that write
	// to the objects they are given.
	DisableSharing bool
	// MaxDelay is how long events may wait so that several are read at once; nil means
	// DefaultMaxDelay, and a second is the most. With 0 none waits, and watches stay on
	// shared connections. The first events after silence never wait, nor do those of a
	// stream that is not busy: see doc.go.
	MaxDelay *time.Duration
	// Narrows says how a ListerWatcher's closures narrow the collection, if the caller
	// knows: it returns their namespace, empty for all of them, and sets the selectors of
	// their requests. Other sources do not look at it. It may be called at any time.
	Narrows func(*metav1.ListOptions) (namespace string)
	// Intercept lets FromListerWatcher read the wire itself where its closures use a
	// client with WrapTransport, which says when. Other sources do not look at it.
	Intercept bool
}

// DefaultMaxDelay is the MaxDelay of sources that have none, those of package cache and
// ctrlruntime among them. A program may set it before it makes the first.
var DefaultMaxDelay = 20 * time.Millisecond

// maxMaxDelay is far from every timeout of servers, of proxies and of package reflector.
const maxMaxDelay = time.Second

func (o *Options) maxDelay() time.Duration {
	if o.MaxDelay != nil {
		return *o.MaxDelay
	}
	return DefaultMaxDelay
}

// DropManagedFields is a path for Drop that suits most programs: managed fields
// take a third of a typical object's bytes.
const DropManagedFields = "metadata.managedFields"

// validate returns every problem at once.
func (o *Options) validate() error {
	var errs []error
	if o.Namespace != "" {
		for _, msg := range rest.IsValidPathSegmentName(o.Namespace) {
			errs = append(errs, fmt.Errorf("namespace %q %s", o.Namespace, msg))
		}
	}
	_, _, err := o.selectors()
	errs = append(errs, err)
	if o.MaxObjectBytes < 0 || o.MaxObjectBytes > maxMaxObjectBytes {
		errs = append(errs, fmt.Errorf("MaxObjectBytes is %d, not from 0 to %d", o.MaxObjectBytes, maxMaxObjectBytes))
	}
	if d := o.maxDelay(); d < 0 || d > maxMaxDelay {
		errs = append(errs, fmt.Errorf("MaxDelay is %v, not from 0 to %v", d, maxMaxDelay))
	}
	if o.DisableSharing && o.Sharing != nil {
		errs = append(errs, errors.New("DisableSharing is set, and so is Sharing"))
	}
	return errors.Join(errs...)
}

func (o *Options) maxObjectBytes() int {
	if o.MaxObjectBytes == 0 {
		return defaultMaxObjectBytes
	}
	return int(o.MaxObjectBytes)
}

// describe builds what String returns.
func (o *Options) describe(what string) string {
	if o.Name != "" {
		return o.Name
	}
	var b strings.Builder
	b.WriteString(what)
	if o.Namespace != "" {
		b.WriteString(" in namespace " + o.Namespace)
	}
	if o.LabelSelector != "" {
		b.WriteString(", selector " + o.LabelSelector)
	}
	if o.FieldSelector != "" {
		b.WriteString(", fields " + o.FieldSelector)
	}
	return b.String()
}

// listOptions are a LIST request's parameters. A continue token contains its
// version; a server refuses a request with both.
func listOptions[T any](o *Options, req ListRequest[T]) metav1.ListOptions {
	lo := metav1.ListOptions{
		LabelSelector: o.LabelSelector,
		FieldSelector: o.FieldSelector,
		Limit:         req.Limit,
		Continue:      req.Continue,
	}
	if req.labels != nil {
		lo.LabelSelector = joined(lo.LabelSelector, req.labels.String())
	}
	lo.FieldSelector = joined(lo.FieldSelector, req.FieldSelector)
	if req.Continue == "" {
		lo.ResourceVersion = req.ResourceVersion
		switch {
		case req.Exact:
			lo.ResourceVersionMatch = metav1.ResourceVersionMatchExact
		case req.NotOlderThan && req.ResourceVersion != "":
			lo.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
	return lo
}

// joined returns a selector of what both select.
func joined(a, b string) string {
	a = strings.TrimSpace(a)
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "," + b
}

// watchOptions are a WATCH request's parameters.
func watchOptions[T any](o *Options, req WatchRequest[T]) metav1.ListOptions {
	lo := metav1.ListOptions{
		LabelSelector:       o.LabelSelector,
		FieldSelector:       o.FieldSelector,
		Watch:               true,
		AllowWatchBookmarks: true,
		ResourceVersion:     req.ResourceVersion,
	}
	if req.Timeout > 0 {
		// Rounded up: 0 would mean the server's own choice.
		seconds := int64((req.Timeout + time.Second - 1) / time.Second)
		lo.TimeoutSeconds = &seconds
	}
	if req.SendInitialEvents {
		// KEP-3157: the two go together, the version may be empty.
		yes := true
		lo.SendInitialEvents = &yes
		lo.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return lo
}
