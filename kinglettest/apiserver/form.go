package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
)

// form is how answers to one request are encoded.
type form struct {
	info runtime.SerializerInfo
	gv   schema.GroupVersion
	// as is PartialObjectMetadata or PartialObjectMetadataList if only metadata was requested.
	as string
}

// metaCodecs know what does not belong to any group: Status, watch events,
// PartialObjectMetadata. They are made once: that takes as long as to answer ten
// requests.
var metaCodecs = sync.OnceValue(func() serializer.CodecFactory {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(s); err != nil {
		panic(fmt.Sprintf("BUG: apimachinery's scheme: %v", err))
	}
	return serializer.NewCodecFactory(s)
})

// formOf returns the first encoding in an Accept header that the server has.
func (c *call) formOf(accept string) (form, error) {
	f := form{gv: c.resource.GroupVersion()}
	known := c.resource.custom() // or a media type of the header is
	if accept == "" {
		accept = runtime.ContentTypeJSON
	}
	for clause := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		if media == "*/*" || media == "application/*" && c.resource.custom() {
			media = runtime.ContentTypeJSON
		}
		info, err := serializerOf(media)
		if err != nil || info.StreamSerializer == nil && c.Verb == "watch" {
			continue
		}
		known = true
		switch as := params["as"]; as {
		case "":
			if c.resource.custom() && media == runtime.ContentTypeProtobuf {
				continue
			}
		case "PartialObjectMetadata", "PartialObjectMetadataList":
			if params["g"] != metav1.GroupName || params["v"] != "v1" {
				continue
			}
			info, _ = runtime.SerializerInfoForMediaType(metaCodecs().SupportedMediaTypes(), media)
			f.as = as
		default:
			continue
		}
		f.info = info
		return f, nil
	}
	switch {
	case known:
		return f, notAcceptable("only the following media types are accepted: "+mediaTypes, nil)
	case c.Verb == "list", c.Verb == "watch":
		return f, notAcceptable("406: Not Acceptable\n\nAvailable representations: "+mediaTypes+", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch", &metav1.StatusDetails{})
	}
	return f, notAcceptable("406: Not Acceptable\n\nAvailable representations: "+mediaTypes, &metav1.StatusDetails{})
}

func notAcceptable(message string, details *metav1.StatusDetails) error {
	return refusal(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message, details)
}

// isFor refuses the metadata of a list where an object is the answer, and the reverse.
func (f *form) isFor(r *Resource, list bool) error {
	switch {
	case list && f.as == "PartialObjectMetadata":
		return notAcceptable(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (*%sList)", r.internalType()), nil)
	case list || f.as != "PartialObjectMetadataList":
		return nil
	case r.custom():
		return text("content is not a list")
	}
	return notAcceptable(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (*%s)", r.internalType()), nil)
}

// statusForm is the encoding of answers that are about no resource.
func statusForm(accept string) form {
	f := form{info: metaCodecs().SupportedMediaTypes()[0], gv: schema.GroupVersion{Version: "v1"}}
	for clause := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil || params["as"] != "" {
			continue // with as=, a clause is about no Status
		}
		if info, ok := runtime.SerializerInfoForMediaType(metaCodecs().SupportedMediaTypes(), media); ok {
			f.info = info
			break
		}
	}
	return f
}

// encode writes an object, or a list, or a Status.
func (f *form) encode(w io.Writer, obj runtime.Object) error {
	switch o := obj.(type) {
	case *metav1.Status:
		gv := schema.GroupVersion{Version: "v1"}
		return metaCodecs().EncoderForVersion(f.info.Serializer, gv).Encode(o, w)
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metaCodecs().EncoderForVersion(f.info.Serializer, metav1.SchemeGroupVersion).Encode(o, w)
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
		if f.info.MediaType == runtime.ContentTypeYAML {
			return f.info.Serializer.Encode(o, w)
		}
		return unstructured.UnstructuredJSONScheme.Encode(o, w)
	}
	// The encoder writes the kind into the object, which others read, hence the copy.
	return codecs().EncoderForVersion(f.info.Serializer, f.gv).Encode(obj.DeepCopyObject(), w)
}

// shape converts an object to the requested form.
func (f *form) shape(obj runtime.Object) runtime.Object {
	if f.as == "" {
		return obj
	}
	p := meta.AsPartialObjectMetadata(metaOf(obj))
	p.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	return p
}

// list makes a list of objects in the requested form.
func (f *form) list(r *Resource, items []runtime.Object, lm metav1.ListMeta) (runtime.Object, error) {
	if err := f.isFor(r, true); err != nil {
		return nil, err
	}
	if f.as == "" {
		return r.newList(items, lm)
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: lm}
	for _, it := range items {
		list.Items = append(list.Items, *f.shape(it).(*metav1.PartialObjectMetadata))
	}
	return list, nil
}

// streamType is the content type of a watch.
func (f *form) streamType() string {
	if f.info.EncodesAsText {
		return f.info.MediaType
	}
	return f.info.MediaType + ";stream=watch"
}

// errNoList ends a watch that accepts only lists, as on a real server.
var errNoList = errors.New("an event has no list")

// frames returns a function that writes one watch event.
func (f *form) frames(w io.Writer) func(typ watch.EventType, obj runtime.Object, damaged bool) error {
	enc := streaming.NewEncoder(f.info.StreamSerializer.Framer.NewFrameWriter(w),
		metaCodecs().EncoderForVersion(f.info.StreamSerializer.Serializer, schema.GroupVersion{Version: "v1"}))
	return func(typ watch.EventType, obj runtime.Object, damaged bool) error {
		if _, is := obj.(*metav1.PartialObjectMetadata); is && f.as == "PartialObjectMetadataList" {
			return errNoList
		}
		var b bytes.Buffer
		if err := f.encode(&b, obj); err != nil {
			return err
		}
		raw := b.Bytes()
		if damaged {
			var err error
			if raw, err = f.damage(raw, obj); err != nil {
				return err
			}
		}
		e := &metav1.WatchEvent{Type: string(typ)}
		e.Object.Raw = raw
		return enc.Encode(e)
	}
}
