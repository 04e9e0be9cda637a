package source

import (
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// accepts are the Accept headers of a source's requests.
type accepts struct{ list, watch string }

func (a *accepts) header(watch bool) string {
	if watch {
		return a.watch
	}
	return a.list
}

// acceptsOf returns the types to ask for: all that k reads, or if the client's
// configuration names types (rest.Config.AcceptContentTypes), those of them that k
// reads, in the client's order. It is an error if there are none.
func acceptsOf[T any](k *kind[T], named string) (accepts, error) {
	a := accepts{list: k.accept(false), watch: k.accept(true)}
	types, any := readTypes(named)
	if any {
		return a, nil
	}
	var list, watch []string
	listForm, watchForm, json := "", "", false
	if k.form == metadataOnly {
		listForm, watchForm = partialKind.Kind+"List", partialKind.Kind
	}
	for _, t := range types {
		enc := encoding.OfMediaType(t.media)
		if enc == nil || !k.reads(enc) {
			continue
		}
		json = json || enc == encoding.JSON
		list, watch = append(list, t.as(listForm)), append(watch, t.as(watchForm))
	}
	if len(list) == 0 {
		return a, fmt.Errorf("the client accepts %q, and this source reads %q: AcceptContentTypes has to name one of these", named, a.list)
	}
	if json && k.form == metadataOnly {
		// A server that cannot convert sends the whole object.
		list, watch = append(list, runtime.ContentTypeJSON), append(watch, runtime.ContentTypeJSON)
	}
	return accepts{list: strings.Join(list, ","), watch: strings.Join(watch, ",")}, nil
}

// acceptHeader returns the Accept header that a request has from its client's
// configuration. client-go has no accessor for it. If a version of client-go keeps
// it elsewhere, the result is empty, as if the configuration named no types.
func acceptHeader(req *rest.Request) string {
	headers := reflect.Indirect(reflect.ValueOf(req)).FieldByName("headers")
	if !headers.IsValid() || headers.Type() != reflect.TypeFor[http.Header]() {
		return ""
	}
	values := headers.MapIndex(reflect.ValueOf("Accept"))
	if !values.IsValid() {
		return ""
	}
	var all []string
	for i := range values.Len() {
		all = append(all, values.Index(i).String())
	}
	return strings.Join(all, ",")
}

// acceptedType is one type of an Accept header, with its weight if it has one.
type acceptedType struct{ media, weight string }

// readTypes reads an Accept header. any reports that it takes every type.
func readTypes(header string) (types []acceptedType, any bool) {
	for one := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(one)
		if err != nil || params["as"] != "" {
			continue
		}
		if media == "*/*" || media == "application/*" {
			return nil, true
		}
		types = append(types, acceptedType{media, params["q"]})
	}
	return types, strings.TrimSpace(header) == ""
}

// as returns the type for an answer that the server converts to form. An empty
// form means whole objects.
func (t acceptedType) as(form string) string {
	s := t.media
	if form != "" {
		s += ";as=" + form + ";g=" + partialKind.Group + ";v=" + partialKind.Version
	}
	if t.weight != "" {
		s += ";q=" + t.weight
	}
	return s
}
