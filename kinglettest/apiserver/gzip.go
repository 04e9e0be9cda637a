package apiserver

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// acceptsGzip reports whether a client reads gzip.
func acceptsGzip(r *http.Request) bool {
	for token := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(token) == "gzip" {
			return true
		}
	}
	return false
}

// compressed is a body in gzip. A flush ends the gzip member, as it does on a
// real server, which keeps no compressor for an idle watch.
type compressed struct {
	*body
	z    *gzip.Writer
	open bool // a member has begun
}

func compress(b *body) *compressed { return &compressed{body: b, z: gzip.NewWriter(nil)} }

// Write implements io.Writer.
func (c *compressed) Write(p []byte) (int, error) {
	if !c.open {
		c.z.Reset(c.body)
		c.open = true
	}
	return c.z.Write(p)
}

// flush sends what there is.
func (c *compressed) flush() error {
	if c.open {
		c.open = false
		if err := c.z.Flush(); err != nil {
			return err
		}
		if err := c.z.Close(); err != nil {
			return err
		}
	}
	return c.body.flush()
}
