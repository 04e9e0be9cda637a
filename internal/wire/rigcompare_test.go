package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// How the rig compares what a decoder made with what the official one makes.

// official decodes what a version was decoded from once more.
func (r *rig) official(h rigVersion) (obj any, err error) {
	if h.raw == nil {
		return nil, errors.New("made by hand")
	}
	obj = reflect.New(r.subject.typ).Interface()
	switch u, ok := obj.(*unstructured.Unstructured); {
	case ok:
		err = utiljson.Unmarshal(h.raw, &u.Object)
	case h.format == formats.Protobuf:
		err = official.Unmarshal(h.raw, obj.(official.Protobuf))
	default:
		err = official.JSON(h.raw, obj)
	}
	if err == nil && h.dropped {
		obj = reduced(obj, r.subject.keep, r.subject.drop)
	}
	return obj, err
}

// decode decodes raw by one of the decoders, and compares.
func (r *rig) decode(which int, raw []byte, format formats.Format, last Last[any]) error {
	r.note("decoder %d, format %d, last %v, memo %v: %q", which, format, last.Held, last.Memo != nil, raw)
	r.decodings++
	h := rigVersion{raw: append([]byte{}, raw...), format: format, dropped: which == 1}
	var o Object[any]
	var err error
	b := slices.Clone(raw)
	if format == formats.JSON {
		b = append(b, ' ')
	}
	var n int
	if o, n, err = r.decoders[which].Decode(format, r.session, b, last); format == formats.JSON && n > 0 {
		h.raw = raw[:min(n, len(raw))]
	}
	clear(b)
	if refused := (*scan.ExponentError)(nil); errors.As(err, &refused) {
		if !r.endless {
			return fmt.Errorf("refused without a reason: %w", err)
		}
		return nil // the official decoder would take hours
	}
	want, wantErr := r.official(h)
	if refused := (*scan.ExponentError)(nil); err == nil && which == 1 && errors.As(wantErr, &refused) {
		return nil // a quantity, in what is dropped
	}
	tooLarge := (*json.UnmarshalTypeError)(nil)
	switch {
	case err == nil && which == 1 && errors.As(wantErr, &tooLarge):
		return nil // a number, in what is dropped
	case err != nil && format == formats.JSON && !bytes.HasPrefix(bytes.TrimLeft(h.raw, " \t\r\n"), []byte{'{'}):
		return nil // the official decoder takes null for an object
	case (err == nil) != (wantErr == nil):
		return fmt.Errorf("error %v, the official decoder's is %v", err, wantErr)
	case err != nil:
		return nil
	case o.Same && (!last.Held || o.Value != last.Object || o.Memo != last.Memo):
		return errors.New("the same, and not the last version")
	}
	if err := r.named(&o, want, format); err != nil {
		return err
	}
	if !gotype.Identical(reflect.ValueOf(o.Value), reflect.ValueOf(want)) {
		return fmt.Errorf("decoded\n%s\nnot\n%s\nfrom %q", spell(o.Value), spell(want), h.raw)
	}
	h.object, h.memo = o.Value, o.Memo
	if !o.Same && r.OneIn(4) {
		r.name(h.object)
	}
	return r.keep(h)
}

// named gives want the kind that the decoded object has, where that is not
// the decoder's to choose.
func (r *rig) named(o *Object[any], want any, format formats.Format) error {
	if u, ok := want.(*unstructured.Unstructured); ok {
		for _, name := range []string{"kind", "apiVersion"} {
			if v, ok := o.Value.(*unstructured.Unstructured).Object[name]; ok && o.Same && u.Object[name] == nil {
				u.Object[name] = v
			}
		}
		return nil
	}
	tm := reflect.ValueOf(want).Elem().FieldByName("TypeMeta")
	if !tm.IsValid() {
		return nil
	}
	if kind := tm.FieldByName("Kind").String(); format != formats.Protobuf && o.Kind != kind {
		return fmt.Errorf("of kind %q, not %q", o.Kind, kind)
	}
	tm.SetZero()
	if o.Same {
		tm.Set(reflect.ValueOf(o.Value).Elem().FieldByName("TypeMeta"))
	}
	return nil
}

// name gives an object a kind, as a source may before it hands it on.
func (r *rig) name(obj any) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if u.Object["kind"] == nil {
			u.Object["kind"] = "Listed"
		}
		return
	}
	if tm := reflect.ValueOf(obj).Elem().FieldByName("TypeMeta"); tm.IsValid() {
		tm.Set(reflect.ValueOf(metav1.TypeMeta{Kind: "Listed"}))
	}
}

// keep holds an object, which readers read at once or some objects later.
func (r *rig) keep(h rigVersion) error {
	var own []uintptr
	visitStates(reflect.ValueOf(h.object), func(p uintptr, _ bool) { own = append(own, p) })
	for _, p := range own {
		if r.states[p] {
			return errors.New("hidden state is another object's as well")
		}
		r.states[p] = true
	}
	r.held, r.unread = append(r.held, h), append(r.unread, h.object)
	if r.OneIn(2) {
		r.read()
	}
	return nil
}

// read has readers read what they have not read.
func (r *rig) read() {
	for _, obj := range r.unread {
		touch(reflect.ValueOf(obj))
	}
	r.unread = nil
}

// unchanged verifies that an object is what it was when it was decoded, with
// what readers have written since.
func (r *rig) unchanged(h rigVersion) error {
	want, err := r.official(h)
	if err != nil {
		return nil // nobody knows what it was
	}
	if u, ok := want.(*unstructured.Unstructured); ok {
		if v, ok := h.object.(*unstructured.Unstructured).Object["kind"]; ok {
			u.Object["kind"] = v
		}
		if v, ok := h.object.(*unstructured.Unstructured).Object["apiVersion"]; ok {
			u.Object["apiVersion"] = v
		}
	} else if tm := reflect.ValueOf(want).Elem().FieldByName("TypeMeta"); tm.IsValid() {
		tm.Set(reflect.ValueOf(h.object).Elem().FieldByName("TypeMeta"))
	}
	for _, v := range r.held {
		if v.object == h.object {
			touch(reflect.ValueOf(want))
		}
	}
	if !gotype.Identical(reflect.ValueOf(h.object), reflect.ValueOf(want)) {
		return fmt.Errorf("became\n%s\nwas\n%s", spell(h.object), spell(want))
	}
	return nil
}

// shared has the sharer by structure share what a transform may have returned.
func (r *rig) shared(raw []byte, format formats.Format) error {
	h := rigVersion{raw: raw, format: format}
	var objs [2]any
	byHand := r.OneIn(2) && r.subject.typ != unstructuredType
	seed := []byte{byte(r.Intn(256)), byte(r.Intn(256))}
	for i := range objs {
		var err error
		if objs[i], err = r.official(h); err != nil {
			return nil
		}
		if byHand {
			(&rigFiller{filler.Filler{Script: filler.NewScript(seed)}}).byHand(reflect.ValueOf(objs[i]).Elem())
		}
	}
	if byHand {
		h.raw = nil
	}
	obj, want := objs[0], objs[1]
	last := r.last()
	r.note("shared by structure, last %v: %q", last.Held, raw)
	r.decodings++
	own := map[uintptr]bool{}
	visitStates(reflect.ValueOf(obj), func(p uintptr, _ bool) { own[p] = true })
	got := r.structure.Share(obj, last)
	if !gotype.Identical(reflect.ValueOf(got), reflect.ValueOf(want)) {
		return fmt.Errorf("shared\n%s\nof\n%s", spell(got), spell(want))
	}
	if got == last.Object {
		return nil
	}
	moved := false
	visitStates(reflect.ValueOf(got), func(p uintptr, quantity bool) { moved = moved || !quantity && !own[p] })
	if moved {
		return errors.New("hidden state is not where the transform put it")
	}
	h.object = got
	return r.keep(h)
}
