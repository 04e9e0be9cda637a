package cache

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

// maxPending is how many notifications may be pending for a handler before
// Updates of a key that has one pending fold into that one. Adds and Deletes
// never fold. Up to it each change is delivered, since programs that count
// notifications need it.
//
// A pending notification takes 152 B (what deliver's slot[any] measures), so
// 65,536 of them are 10 MB for a stalled handler, in addition to the old
// versions that they keep alive. client-go has no bound.
const maxPending = 1 << 16

// crashPause is how long a handler that panicked is not called, if the program
// is set to survive panics.
const crashPause = time.Second

// handling calls a ResourceEventHandler with the changes of an informer.
type handling struct {
	handler ResourceEventHandler
	name    string
	logger  klog.Logger
	// crashed, if set, receives the value of a handler's panic, if the program
	// is not set to survive it. Without crashed the panic goes on.
	crashed func(value any)
}

// deletedAfterHandler is a handler that for a delete is given what it received last as well,
// as those of package ctrlruntime are. obj is what OnDelete would be given.
type deletedAfterHandler interface {
	OnDeleteAfter(last, obj any)
}

// options returns how all handlers of this package are called: with every
// change, one at a time.
func (h *handling) options() kinglet.HandlerOptions {
	return kinglet.HandlerOptions{
		Name:         h.name,
		EveryVersion: true,
		Bound:        maxPending,
		Overflow:     kinglet.OverflowFoldUpdates,
		MaxBatch:     1,
	}
}

// Handle implements kinglet.Handler.
func (h *handling) Handle(ctx context.Context, changes []store.Change[any]) {
	for i := range changes {
		if returned := h.call(&changes[i]); returned {
			continue
		}
		timer := time.NewTimer(crashPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// call returns false if the handler panicked and the program is set to survive
// it (utilruntime.ReallyCrash is false, which is not the default). Otherwise
// the panic goes on, and ends the process naming handler and key, or is given to
// crashed.
func (h *handling) call(c *store.Change[any]) (returned bool) {
	if h.crashed != nil {
		defer func() {
			if value := recover(); value != nil {
				h.crashed(value)
			}
		}()
	}
	defer utilruntime.HandleCrashWithLogger(h.logger, func(context.Context, any) {
		h.logger.Error(nil, "Event handler panicked", "handler", h.name, "key", c.Key.String(), "type", c.Type.String())
	})
	switch c.Type {
	case store.Added:
		h.handler.OnAdd(c.New, c.Reason == store.Initial)
	case store.Updated:
		h.handler.OnUpdate(c.Old, c.New)
	case store.Deleted:
		var obj = c.Old
		if c.FinalStateUnknown {
			obj = DeletedFinalStateUnknown{Key: c.Key.String(), Obj: c.Old}
		}
		if after, ok := h.handler.(deletedAfterHandler); ok {
			after.OnDeleteAfter(c.Last, obj)
		} else {
			h.handler.OnDelete(obj)
		}
	}
	return true
}

// handlerName returns where a handler comes from: the package or type of its
// functions, or its own type. For a handler that wraps another it returns the
// other's.
func handlerName(handler ResourceEventHandler) string {
	switch h := handler.(type) {
	case interface{ Unwrap() ResourceEventHandler }:
		if inner := h.Unwrap(); inner != nil {
			return handlerName(inner)
		}
	case *ResourceEventHandlerFuncs:
		if h != nil {
			return functionNames(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
		}
	case ResourceEventHandlerFuncs:
		return functionNames(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	}
	typ := reflect.TypeOf(handler)
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Name() == "" {
		return fmt.Sprintf("%T", handler)
	}
	if typ.PkgPath() == "" {
		return typ.Name()
	}
	return typ.PkgPath() + "." + typ.Name()
}

// functionNames returns the common part of the functions' names if they were
// written in one place, else all names.
func functionNames(handler ResourceEventHandler, functions ...any) string {
	var names, places []string
	for _, f := range functions {
		fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
		if fn == nil {
			continue
		}
		place := fn.Name()
		if i := strings.LastIndexByte(place, '.'); i > 0 {
			place = place[:i]
		}
		names, places = append(names, fn.Name()), append(places, place)
	}
	switch places = slices.Compact(places); len(places) {
	case 0:
		return fmt.Sprintf("%T", handler)
	case 1:
		return places[0]
	}
	return strings.Join(names, "+")
}
