package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	goruntime "runtime"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/clone"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/structure"
	"github.com/kinglet-go/kinglet/source"
)

// A plan may take this much to compile.
const (
	maxTime  = 20 * time.Millisecond
	maxBytes = 1 << 20
)

// Trials are scripts of a type, each with that many steps at most.
const (
	trialsOfRegistered = 6
	trialsOfOthers     = 2
	steps              = 12
)

type checker struct {
	seed   uint64
	report Report
}

func (c *checker) problem(typ reflect.Type, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > 4000 {
		text = text[:2000] + " … " + text[len(text)-2000:]
	}
	c.report.Problems = append(c.report.Problems, fmt.Sprintf("-seed %d: %s: %s", c.seed, nameOf(typ), text))
}

// check compiles the plans of a struct type, fills its fields, and decodes and copies
// objects of it.
// registered: it is the type of whole objects.
func (c *checker) check(typ reflect.Type, registered bool) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 4<<10)
			c.problem(typ, "panic: %v\n%s", p, stack[:goruntime.Stack(stack, false)])
		}
	}()
	c.plans(typ)
	filler.Fields(typ).Fill(reflect.New(typ)) // no decoder may make it panic
	_, err := wire.Compile[any](typ, nil)
	if registered {
		c.path(typ, err)
	}
	if te := (*json.TypeError)(nil); err != nil && !registered && errors.As(err, &te) {
		c.report.Foreign = append(c.report.Foreign, nameOf(typ)) // it decodes itself, and is left to that wherever it occurs
		return
	} else if err != nil {
		c.report.FallsBack[nameOf(typ)] = err.Error()
		return
	}
	trials, done := trialsOfOthers, 0
	if registered {
		trials = trialsOfRegistered
	}
	for n := range trials {
		script := filler.Random(rand.New(rand.NewPCG(c.seed, uint64(n))))
		r, err := newTrial(typ, script)
		if err == nil {
			err = r.run()
			done += r.decodings
		}
		if copied := false; err == nil {
			if copied, err = copies(r); copied {
				c.report.Copies++
			}
		}
		if err != nil {
			c.problem(typ, "%v", err)
			return
		}
	}
	if c.report.Decodings += done; done == 0 {
		c.report.Unfilled = append(c.report.Unfilled, nameOf(typ))
	}
}

// plans compiles every plan of a type by itself, and holds each to the limits. What is
// left to others has none. A plan that is slow is compiled again, since the machine may
// have been busy.
func (c *checker) plans(typ reflect.Type) {
	for _, plan := range []struct {
		name    string
		compile func()
	}{
		// The graph comes first: all plans are made of it, and it is compiled once.
		{"the graph", func() { _, _ = gotype.Of(typ) }},
		{"JSON", func() { _, _ = json.Compile(typ, nil) }},
		{"protobuf", func() { _, _ = protobuf.Compile(typ, nil) }},
		{"structure", func() { _, _ = structure.Compile(typ) }},
		{"copies", func() { _ = clone.Of(reflect.PointerTo(typ)) }},
	} {
		name, compile := plan.name, plan.compile
		what := nameOf(typ) + ", " + name
		stuck := time.AfterFunc(time.Minute, func() { panic("the plan does not compile: " + what) })
		took, allocated := time.Duration(1<<62), uint64(0)
		for try := 0; try < 5 && took > maxTime/2; try++ {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			start := time.Now()
			compile()
			took = min(took, time.Since(start))
			goruntime.ReadMemStats(&after)
			allocated = after.TotalAlloc - before.TotalAlloc
		}
		stuck.Stop()
		if took > maxTime || allocated > maxBytes {
			c.problem(typ, "the plan for %s takes %v and allocates %d bytes", name, took, allocated)
		}
		c.report.Slowest.raise(Extreme{what, int64(took)})
		c.report.Largest.raise(Extreme{what, int64(allocated)})
	}
}

// path has a source list objects of a type, and verifies that it says if they are left to
// the official decoder, for which compile is the reason, and only then. A type without
// metadata has no source.
func (c *checker) path(typ reflect.Type, compile error) {
	example, ok := reflect.New(typ).Interface().(runtime.Object)
	if _, err := meta.Accessor(example); err != nil || !ok {
		return
	}
	cfg := &rest.Config{Host: "http://localhost", Transport: emptyLists{typ.Name() + "List"}}
	src, err := source.FromConfig[runtime.Object](cfg, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}, source.Options{Example: example})
	if err != nil {
		c.problem(typ, "there is no source: %v", err)
		return
	}
	var path source.ReadPath
	err = src.List(context.Background(), source.ListRequest[runtime.Object]{OnPath: func(p source.ReadPath) { path = p }},
		func(source.Page[runtime.Object]) error { return nil })
	if err != nil || path.Path != source.PathJSON || (compile != nil) != path.Lost() {
		c.problem(typ, "plan: %v; a list says: %v, %v; error %v", compile, path.Path, path.Why, err)
	}
}

// emptyLists answers each request with a list of nothing, which says its kind.
type emptyLists struct{ kind string }

func (l emptyLists) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"kind":"` + l.kind + `","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[]}`)),
	}, nil
}

// copies copies an object as its DeepCopyInto does, if it has one, and compares the two
// once more when the origin was written to.
func copies(r *trial) (copied bool, err error) {
	from, to, want := reflect.New(r.typ), reflect.New(r.typ), reflect.New(r.typ)
	method := from.MethodByName("DeepCopyInto")
	plan := clone.Of(from.Type())
	if plan == nil || !method.IsValid() || method.Type().NumIn() != 1 || method.Type().In(0) != from.Type() {
		return false, nil
	}
	r.Memory, r.Budget = true, 300
	r.Fill(from.Elem(), 0)
	r.Budget = 50
	r.Fill(to.Elem(), 0)
	if guarded(func() error { method.Call([]reflect.Value{want}); return nil }) != nil {
		return false, nil // it does not copy what no decoder makes
	}
	for range 3 { // the third is made in one allocation
		plan.Copy(to.Interface(), from.Interface())
	}
	if !gotype.Identical(to, want) {
		return true, fmt.Errorf("copied\n%s\nnot\n%s", spell(to.Interface()), spell(want.Interface()))
	}
	was := spell(want.Interface())
	for range 20 {
		r.change(from.Elem())
	}
	// The type's own method may share memory with the origin. To spell a message writes to
	// its hidden state.
	if spell(want.Interface()) == was && !gotype.Equal(to.Interface(), want.Interface(), true) {
		return true, fmt.Errorf("the copy changes with its origin, to\n%s\nfrom\n%s", spell(to.Interface()), was)
	}
	return true, nil
}
