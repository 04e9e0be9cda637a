package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// The rig decodes versions of objects, one after the other, by all
// decoders, and compares each with what the official decoder makes of the same
// bytes, by bits. What it gives a decoder for the last version is anything that
// somebody may hold: a version by the same decoder, by one that drops fields, or
// from another encoding, with its memo, another's, or none; and objects made by
// hand. What it decodes may be malformed, several times over. Readers of the
// objects write to the hidden state in them, so that a state in two objects, or
// a copy of one, shows as a difference.

// subject is a type that the rig decodes.
type subject struct {
	typ reflect.Type
	// keep and drop name fields that the second of the decoders keeps and drops.
	keep, drop []string
	// from is the type that unstructured objects are encoded from, budget how much of
	// an object is filled.
	from   reflect.Type
	budget int
}

var unstructuredType = reflect.TypeFor[unstructured.Unstructured]()

var subjects = []subject{
	{typ: reflect.TypeFor[custom](), drop: []string{"metadata.annotations", "spec.partial.quantity", "status.floats"}},
	{typ: reflect.TypeFor[scalars](), drop: []string{"ratios", "bytes"}},
	{typ: reflect.TypeFor[scalars](), drop: []string{"quantity"}},
	{typ: reflect.TypeFor[scalars](), drop: []string{"metadata"}},
	{typ: reflect.TypeFor[measures](), drop: []string{"inner.value", "foreign"}},
	{typ: reflect.TypeFor[corev1.Pod](), drop: []string{"metadata.managedFields", "spec.volumes.emptyDir", "spec.tolerations"}},
	{typ: reflect.TypeFor[appsv1.StatefulSet](), drop: []string{"metadata.managedFields", "spec.template.spec", "status"}},
	{typ: reflect.TypeFor[corev1.ConfigMap](), drop: []string{"data"}},
	{typ: reflect.TypeFor[coordinationv1.Lease](), drop: []string{"metadata.annotations"}},
	{typ: reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler](), drop: []string{"spec.metrics.resource"}},
	{typ: unstructuredType, drop: []string{"metadata.annotations", "spec.list", "status.any", "status.any.a"}},
}

type marshaler interface{ Marshal() ([]byte, error) }

// formats are those that a subject can be read from.
func (s subject) formats() []formats.Format {
	all := []formats.Format{formats.JSON}
	if protobuf.Reads(s.typ) {
		all = append(all, formats.Protobuf)
	}
	return all
}

// rigVersion is an object that somebody holds.
type rigVersion struct {
	object any
	memo   *share.Memo
	// raw is what it was decoded from, in a format, by the decoder that drops
	// fields or not; nil if it was made by hand.
	raw     []byte
	format  formats.Format
	dropped bool
}

// rig is one trial.
type rig struct {
	*rigFiller
	subject  subject
	decoders [2]*Decoder[any]
	session  *share.Session
	// structure shares what a program's code made.
	structure *Structure[any]
	// now is what the next version is made from, held what there is.
	now  reflect.Value
	held []rigVersion
	// unread are those that readers will read later.
	unread []any
	// states are where all objects have their hidden state, which made keeps
	// alive with held.
	states map[uintptr]bool
	made   []any
	// endless: a Quantity of this step's may have an exponent that cannot be computed.
	endless bool
	// steps is what was done, as arguments of Sprintf, decodings how often bytes
	// or objects were compared.
	steps     [][]any
	decodings int
	// planned and left count the objects from undisturbed bytes that have a memo, and
	// those that have none, since the official decoder made them.
	planned, left int
}

func newRig(script *filler.Script) (*rig, error) {
	return newRigOf(filler.Pick(script, subjects), script)
}

func newRigOf(of subject, script *filler.Script) (*rig, error) {
	r := &rig{rigFiller: &rigFiller{filler.Filler{Script: script}}, subject: of, states: map[uintptr]bool{}}
	table := share.NewTable(0)
	r.session = share.NewSession(table)
	if script.OneIn(2) {
		r.session.Recent = new(share.Recent)
	}
	r.structure = NewStructure[any](table)
	if _, err := gotype.DropsOf(of.typ, []string{"metadata.name"}, nil); err == nil && script.OneIn(2) {
		r.subject.keep = nil
		for range script.Intn(4) {
			if path := filler.Path(script, r.encodes()); path != "" {
				r.subject.keep = append(r.subject.keep, path)
			}
		}
		if script.OneIn(2) {
			r.subject.drop = nil
		}
	}
	drops, err := gotype.DropsOf(of.typ, r.subject.keep, r.subject.drop)
	if err != nil {
		return nil, err
	}
	for i, drops := range []*gotype.Drops{nil, drops} {
		if r.decoders[i], err = Compile[any](of.typ, drops); err != nil {
			return nil, err
		}
	}
	r.now = r.fresh()
	return r, nil
}

// encodes returns the type that the subject is encoded from.
func (r *rig) encodes() reflect.Type {
	switch typ := r.subject.typ; {
	case r.subject.from != nil:
		return r.subject.from
	case typ == unstructuredType:
		return reflect.TypeFor[custom]()
	default:
		return typ
	}
}

// fresh is a new object; of an unstructured one what it is encoded from.
func (r *rig) fresh() reflect.Value {
	v := reflect.New(r.encodes())
	r.Budget = max(150, r.subject.budget)
	r.Fill(v.Elem(), 0)
	return v
}

// run makes steps until one fails, and says how it fails.
func (r *rig) run(steps int) error {
	for range steps {
		if err := r.step(); err != nil {
			return r.failed(err)
		}
	}
	r.read()
	for _, h := range r.held {
		if err := r.unchanged(h); err != nil {
			return r.failed(err)
		}
	}
	return nil
}

func (r *rig) note(format string, args ...any) {
	r.steps = append(r.steps, append([]any{format}, args...))
}

// failed says what was done before err.
func (r *rig) failed(err error) error {
	var steps []string
	for _, s := range r.steps {
		steps = append(steps, fmt.Sprintf(s[0].(string), s[1:]...))
	}
	return fmt.Errorf("%v: %w\nafter %s", r.subject.typ, err, strings.Join(steps, "\n"))
}

func (r *rig) step() error {
	if r.OneIn(4) {
		r.session.Table.Fade()
		if r.OneIn(128) {
			goruntime.GC()
		}
	}
	format := filler.Pick(r.Script, r.subject.formats())
	r.NaN = format == formats.Protobuf
	switch r.Intn(5) {
	case 0:
		r.now = r.fresh()
	case 1, 2, 3:
		r.Budget = 30
		for range 1 + r.Intn(2) {
			r.change(r.now.Elem(), 0)
		}
	}
	raw, err := encoded(r.now, format)
	if err != nil {
		// A NaN of a step before.
		r.now = r.fresh()
		return nil
	}
	if format == formats.JSON && r.OneIn(2) {
		// A Quantity may be a number as well.
		raw = bytes.ReplaceAll(raw, []byte(`"5"`), []byte(`5`))
	}
	asWritten := raw
	raw, r.endless = r.exponents(raw)
	switch r.Intn(8) {
	case 0, 1:
		return r.shared(raw, format)
	case 2, 3, 4:
		raw, r.endless = r.disturb(raw), true
		d := 0
		if r.subject.typ == unstructuredType {
			d = r.Intn(2) // elsewhere what is dropped need not be of its type
		}
		for range 3 + r.Intn(3) {
			if err := r.decode(d, raw, format, r.last()); err != nil {
				return err
			}
		}
		return nil
	}
	err = r.decode(r.Intn(2), raw, format, r.last())
	if made := r.held[max(0, len(r.held)-1):]; err == nil && len(made) > 0 && bytes.Equal(raw, asWritten) && bytes.Equal(made[0].raw, raw) {
		if made[0].memo != nil {
			r.planned++
		} else {
			r.left++
		}
	}
	return err
}

func encoded(v reflect.Value, format formats.Format) ([]byte, error) {
	if format == formats.Protobuf {
		return v.Interface().(marshaler).Marshal()
	}
	return json.Marshal(v.Interface())
}

// last is a last version, or what somebody takes for one.
func (r *rig) last() Last[any] {
	if len(r.held) == 0 || r.OneIn(8) {
		return Last[any]{}
	}
	h := r.held[len(r.held)-1]
	if r.OneIn(3) {
		h = filler.Pick(r.Script, r.held)
	}
	l := Last[any]{Object: h.object, Memo: h.memo, Held: true}
	switch r.Intn(6) {
	case 0:
		l.Object = r.handmade()
		r.note("by hand, with the memo of another")
	case 1:
		l.Object, l.Memo = r.handmade(), nil
		r.note("by hand")
	case 2:
		l.Memo = filler.Pick(r.Script, r.held).memo
		r.note("with any memo")
	case 3:
		l.Memo = nil
		r.note("without a memo")
	}
	return l
}

// handmade is an object that a program has made.
func (r *rig) handmade() any {
	h := filler.Pick(r.Script, r.held)
	obj, err := r.official(h)
	if err != nil {
		obj = reflect.New(r.subject.typ).Interface()
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		for k := range u.Object {
			if r.OneIn(4) {
				u.Object[k] = r.Untyped(4)
			}
		}
		return obj
	}
	r.byHand(reflect.ValueOf(obj).Elem())
	visitStates(reflect.ValueOf(obj), func(p uintptr, _ bool) { r.states[p] = true })
	touch(reflect.ValueOf(obj))
	r.made = append(r.made, obj)
	return obj
}
