package source

import (
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// accepted is what a client asks for.
type accepted struct {
	// media is what it can be answered in: JSON before protobuf, or empty.
	media string
	// protobuf says that it can read that.
	protobuf bool
	// metadata and table: that it wants a server to convert the objects.
	metadata, table bool
}

func readAccept(header http.Header) accepted {
	var a accepted
	values := header.Values("Accept")
	if len(values) == 0 {
		return accepted{media: runtime.ContentTypeJSON}
	}
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		switch media {
		case runtime.ContentTypeProtobuf:
			a.protobuf = true
			if a.media == "" {
				a.media = media
			}
		case runtime.ContentTypeJSON, "*/*", "application/*":
			a.media = runtime.ContentTypeJSON
		}
		switch as := params["as"]; {
		case strings.HasPrefix(as, partialKind.Kind):
			a.metadata = true
		case as != "":
			a.table = true
		}
	}
	return a
}

// readable reports whether an answer is one that a Decoder reads.
func readable(header http.Header) bool {
	media, ok := mediaType(header)
	return ok && (media == runtime.ContentTypeJSON || media == runtime.ContentTypeProtobuf)
}

// mediaType is the type of an answer, without its parameters.
func mediaType(header http.Header) (string, bool) {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return media, err == nil
}
