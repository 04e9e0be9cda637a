package intercept

import (
	"mime"
	"net/http"
	"strings"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// accepted is what a client asks for in its Accept header.
type accepted struct {
	// encoding is one that the client reads, preferably JSON; or nil.
	encoding encoding.Encoding
	// reads has all formats that it reads.
	reads [formats.Count]bool
	// metadata and table report that the server is to convert the objects.
	metadata, table bool
}

func readAccept(header http.Header) accepted {
	var a accepted
	values := header.Values("Accept")
	if len(values) == 0 {
		a.accept(encoding.JSON)
		return a
	}
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		enc := encoding.OfMediaType(media)
		if media == "*/*" || media == "application/*" {
			enc = encoding.JSON
		}
		if enc != nil {
			a.accept(enc)
		}
		switch as := params["as"]; {
		case strings.HasPrefix(as, "PartialObjectMetadata"):
			a.metadata = true
		case as != "":
			a.table = true
		}
	}
	return a
}

func (a *accepted) accept(enc encoding.Encoding) {
	a.reads[enc.Format()] = true
	if a.encoding == nil || enc == encoding.JSON {
		a.encoding = enc
	}
}
