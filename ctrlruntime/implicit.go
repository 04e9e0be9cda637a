package ctrlruntime

import (
	"fmt"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Implicit is what a Get or List does if its kind and form have no informer yet. An
// informer that is made for it lists and holds all objects of the kind, which may be
// far more than the reader needs.
type Implicit uint8

const (
	// WarnImplicit makes an informer, and reports the kind and the reader once.
	WarnImplicit Implicit = iota
	// AllowImplicit makes an informer, as controller-runtime does.
	AllowImplicit
	// RefuseImplicit fails with *cache.ErrResourceNotCached, as with
	// cache.Options.ReaderFailOnMissingInformer.
	RefuseImplicit
)

// reportImplicit reports a read that has made an informer.
func (c *Cache) reportImplicit(gvk schema.GroupVersionKind, f form) {
	if c.options.Implicit != WarnImplicit {
		return
	}
	reader := caller()
	if c.options.OnImplicit != nil {
		c.options.OnImplicit(gvk, reader)
		return
	}
	logf.Log.WithName("kinglet").Info("A read has made an informer of all objects of a kind; watch the kind, or read it by the manager's API reader",
		"kind", describe(gvk, f), "reader", reader)
}

// caller returns the function, file and line that reads from the cache: the closest
// caller outside this package and controller-runtime.
func caller() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, "github.com/kinglet-go/kinglet/ctrlruntime.") ||
			strings.HasPrefix(frame.Function, "sigs.k8s.io/controller-runtime/")
		if frame.Function != "" && !inside {
			return fmt.Sprintf("%s, %s:%d", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
