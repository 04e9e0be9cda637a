package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func compiled[T any](t *testing.T, drop ...string) *Decoder[T] {
	t.Helper()
	drops, err := gotype.DropsOf(reflect.TypeFor[T]().Elem(), nil, drop)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compile[T](reflect.TypeFor[T]().Elem(), drops)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Objects that a program puts into the store itself have empty lists, and parts
// that say their kind; so have versions from another encoding. The next version
// comes in protobuf.
func TestALastVersionThatTheDecoderDidNotMakeChangesNothing(t *testing.T) {
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"app": "some text of some length"}}}
	named := template
	named.TypeMeta = metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"}
	next := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: []metav1.OwnerReference{{Name: "b"}}},
		Spec: appsv1.StatefulSetSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Tolerations:    []corev1.Toleration{{Key: "c"}},
				InitContainers: []corev1.Container{{Name: "d"}},
				Volumes:        []corev1.Volume{{Name: "e"}},
			}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template},
		},
	}
	raw, err := next.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	byHand := func() *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: []metav1.OwnerReference{}, Labels: map[string]string{}, Finalizers: []string{}},
			Spec: appsv1.StatefulSetSpec{
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Tolerations: []corev1.Toleration{}, InitContainers: []corev1.Container{}, Volumes: make([]corev1.Volume, 2)[:0], NodeSelector: map[string]string{},
				}},
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{named},
			},
		}
	}
	text, err := json.Marshal(byHand())
	if err != nil {
		t.Fatal(err)
	}
	whole, less := compiled[*appsv1.StatefulSet](t), compiled[*appsv1.StatefulSet](t, "spec.volumeClaimTemplates.metadata", "metadata.annotations", "metadata.creationTimestamp")
	s := share.NewSession(share.NewTable(0))
	decoded := func(o Object[*appsv1.StatefulSet], _ int, err error) Last[*appsv1.StatefulSet] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return Last[*appsv1.StatefulSet]{Object: o.Value, Memo: o.Memo, Held: true}
	}
	fromJSON := decoded(whole.Decode(formats.JSON, s, append(text, ' '), Last[*appsv1.StatefulSet]{}))
	own := decoded(whole.Decode(formats.Protobuf, s, raw, Last[*appsv1.StatefulSet]{}))
	lessOfIt := decoded(less.Decode(formats.Protobuf, s, raw, Last[*appsv1.StatefulSet]{}))
	for round := range 20 {
		for what, last := range map[string]Last[*appsv1.StatefulSet]{
			"one made by hand":                         {Object: byHand(), Held: true},
			"one made by hand, with another's memo":    {Object: byHand(), Memo: own.Memo, Held: true},
			"one from JSON":                            fromJSON,
			"one from JSON, with a memo of protobuf":   {Object: fromJSON.Object, Memo: own.Memo, Held: true},
			"one of which fields were dropped":         lessOfIt,
			"one of which fields were dropped, a memo": {Object: lessOfIt.Object, Memo: own.Memo, Held: true},
		} {
			want := &appsv1.StatefulSet{}
			if err := want.Unmarshal(raw); err != nil {
				t.Fatal(err)
			}
			o, _, err := whole.Decode(formats.Protobuf, s, raw, last)
			if err != nil || o.Same || !gotype.Identical(reflect.ValueOf(o.Value), reflect.ValueOf(want)) {
				t.Fatalf("round %d, %s: %v, same %v\n%s", round, what, err, o.Same, spell(o.Value))
			}
		}
	}
	// The table may have what the first version does not remember.
	own = decoded(whole.Decode(formats.Protobuf, s, raw, own))
	if o, _, err := whole.Decode(formats.Protobuf, s, raw, own); err != nil || !o.Same {
		t.Errorf("its own version is not the same: %v", err)
	}
}

func TestANumberIsUnchangedIfItsBitsAre(t *testing.T) {
	d, s := compiled[*measures](t), share.NewSession(share.NewTable(0))
	var last Last[*measures]
	for range 3 {
		for _, v := range filler.Numbers {
			m := &measures{Value: v, Pointer: &v, List: []measures{{Value: v}}, Foreign: &measured{Value: v, Values: []float64{v}}}
			raw, _ := m.Marshal()
			for again := range 2 {
				o, _, err := d.Decode(formats.Protobuf, s, raw, last)
				if err != nil || o.Same != (again == 1) || !gotype.Identical(reflect.ValueOf(o.Value), reflect.ValueOf(m)) {
					t.Fatalf("%v after %v: %v, the same %v, %s", v, last.Object, err, o.Same, spell(o.Value))
				}
				last = Last[*measures]{Object: o.Value, Memo: o.Memo, Held: true}
			}
		}
	}
}

// What readers write to is in no other object, and no decoder reads it: the
// race detector sees if one does.
func TestReadersMayWriteToHiddenStateWhileVersionsAreDecoded(t *testing.T) {
	text := func(version int) []byte {
		const limits = `{"limit":"512Mi","request":"511Mi","name":"some text of some length"}`
		const message = `{"text":"some text of some length, that is looked up"}`
		return fmt.Appendf(nil, `{"kind":"Custom","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"%d"},"spec":{"limits":%s,"list":[%s,%s],
			"byName":{"a":%s},"message":%s,"messages":[%s],"guarded":{"name":"a","long":"some text of some length"},"quantity":"512Mi",
			"partial":{"name":"a","long":[1,2,3,4]}},"own":{"message":%s,"limits":%s,"beside":{"a":"some text of some length"}},"status":{"float":%d}} `,
			version, limits, limits, limits, limits, message, message, message, limits, version)
	}
	same := text(0)
	for _, drop := range [][]string{nil, {"spec.partial.quantity"}} {
		d, s := compiled[*custom](t, drop...), share.NewSession(share.NewTable(0))
		objects := make(chan *custom, 200)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for o := range objects {
				touch(reflect.ValueOf(o))
			}
		}()
		var last Last[*custom]
		for version := range cap(objects) {
			raw := text(version)
			if version%3 == 0 {
				raw = same
			}
			o, _, err := d.Decode(formats.JSON, s, raw, last)
			if err != nil {
				t.Fatal(err)
			}
			if o.Same {
				t.Fatal("an object with hidden state was compared")
			}
			last = Last[*custom]{Object: o.Value, Memo: o.Memo, Held: true}
			objects <- o.Value
		}
		close(objects)
		<-done
	}
}

func TestReadersMayWriteToHiddenStateWhileVersionsAreDecodedFromProtobuf(t *testing.T) {
	d, s := compiled[*measures](t), share.NewSession(share.NewTable(0))
	objects := make(chan *measures, 200)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for o := range objects {
			touch(reflect.ValueOf(o))
		}
	}()
	var last Last[*measures]
	for version := range cap(objects) {
		state := func() *message { return &message{Text: "some text of some length, that is looked up"} }
		m := &measures{Name: fmt.Sprint(version / 2), State: state(), Inner: &measures{Value: 1, State: state()}, List: []measures{{State: state()}, {Name: "a"}}}
		raw, _ := m.Marshal()
		o, _, err := d.Decode(formats.Protobuf, s, raw, last)
		if err != nil || o.Same {
			t.Fatal(err, "or an object with hidden state was compared")
		}
		last = Last[*measures]{Object: o.Value, Memo: o.Memo, Held: true}
		objects <- o.Value
	}
	close(objects)
	<-done
}

func TestWhatIsRememberedOfAnObjectIsRememberedOfItsCopy(t *testing.T) {
	d, s := compiled[*unstructured.Unstructured](t), share.NewSession(share.NewTable(0))
	raw := []byte(`{"metadata":{"name":"a","labels":{"app":"some text of some length"}},"spec":{"list":[1,2,3]}} `)
	o, _, err := d.Decode(formats.JSON, s, raw, Last[*unstructured.Unstructured]{})
	if err != nil {
		t.Fatal(err)
	}
	held := Last[*unstructured.Unstructured]{Object: o.Value, Memo: o.Memo, Held: true}
	o, _, err = d.Decode(formats.JSON, s, raw, held)
	if err != nil || !o.Same {
		t.Fatal(err, o.Same)
	}
	o.Copied(&unstructured.Unstructured{Object: map[string]any{"kind": "Listed", "metadata": o.Value.Object["metadata"], "spec": o.Value.Object["spec"]}})
	if o.Same {
		t.Error("a copy is called the last version")
	}
	next, _, err := d.Decode(formats.JSON, s, raw, Last[*unstructured.Unstructured]{Object: o.Value, Memo: o.Memo, Held: true})
	if err != nil || !next.Same {
		t.Errorf("the copy is not recognised: %v", err)
	}
	if o, _, err := d.Decode(formats.JSON, s, raw, Last[*unstructured.Unstructured]{Object: o.Value, Memo: held.Memo, Held: true}); err != nil || o.Same {
		t.Errorf("a copy is recognised by the memo of the other: %v", err)
	}
	typed, ts := compiled[*corev1.ConfigMap](t), share.NewSession(share.NewTable(0))
	cm, _, err := typed.Decode(formats.JSON, ts, raw, Last[*corev1.ConfigMap]{})
	if err != nil {
		t.Fatal(err)
	}
	c := *cm.Value
	cm.Copied(&c)
	if again, _, err := typed.Decode(formats.JSON, ts, raw, Last[*corev1.ConfigMap]{Object: cm.Value, Memo: cm.Memo, Held: true}); err != nil || !again.Same || again.Value != &c {
		t.Errorf("the copy is not recognised: %v", err)
	}
}
