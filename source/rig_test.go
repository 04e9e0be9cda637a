package source

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// A trial has a decoder read lists and watches in JSON, one after the other,
// with what it returned before. Random are the objects' type, by where it keeps
// its kind; whether an Interceptor asks; the order of each object's members and each
// list's; what kind an unstructured one's list is; which items say their kind; and how
// the stream is cut. Each item has
// to be what apimachinery makes of its bytes, and none that was ever returned
// may change, since somebody reads it.

// rigTypes are what a trial decodes into. The last two hold objects of any kind.
var rigTypes = []runtime.Object{
	&corev1.Pod{}, &kindDirect{}, &kindInBase{}, &kindTwoDown{}, &kindBehindPointer{}, &kindOfItsOwn{}, &kindItself{},
	&kindShadowed{}, &versionShadowed{}, &kindElsewhere{}, &kindByHand{}, &kindLeftOut{},
	&metav1.PartialObjectMetadata{}, &unstructured.Unstructured{},
}

// rigTrial makes the trial of a seed.
func rigTrial(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	example := rigTypes[r.IntN(len(rigTypes))]
	tr := &rig{rand: r, example: example, held: newSink[runtime.Object]()}
	tr.gv = kindGV
	switch example.(type) {
	case *corev1.Pod:
		tr.gv = podGVR.GroupVersion()
	case *metav1.PartialObjectMetadata:
		tr.gv = partialKind.GroupVersion()
	}
	dec, err := decoderOf[runtime.Object](tr.gv, Options{Example: example, DisableSharing: r.IntN(4) == 0})
	if err != nil {
		return err
	}
	tr.interceptor = r.IntN(2) == 0
	dec.codec.kind.bare = tr.interceptor // as gate.decoder does
	for step := range 6 {
		tr.log = append(tr.log, "")
		if err := tr.step(dec); err != nil {
			return fmt.Errorf("seed %d, %T, through an Interceptor %v, answer %d: %w\n%s", seed, example, tr.interceptor, step, err, strings.Join(tr.log, "\n"))
		}
	}
	return nil
}

type rig struct {
	rand        *rand.Rand
	example     runtime.Object
	gv          schema.GroupVersion
	interceptor bool
	// listKind is the last list's.
	listKind string
	held     *sink[runtime.Object]
	log      []string
	// returned are all objects so far, and was what was in each then.
	returned []runtime.Object
	was      []string
}

// step has one answer decoded, and looks at what came of it.
func (r *rig) step(dec *decoder[runtime.Object]) error {
	kind := reflect.TypeOf(r.example).Elem().Name()
	if _, any := r.example.(*unstructured.Unstructured); any {
		kind = []string{"Pea", "Bean"}[r.rand.IntN(2)]
	}
	watch := r.rand.IntN(3) == 0
	var objects []string
	var said []bool
	for _, name := range []string{"a", "b", "c"}[:1+r.rand.IntN(3)] {
		said = append(said, watch || r.rand.IntN(2) == 0)
		objects = append(objects, r.object(kind, name, said[len(said)-1]))
	}
	items, err := r.decode(dec, kind, watch, objects)
	if err != nil || len(items) != len(objects) {
		return fmt.Errorf("%d items of %d: %w", len(items), len(objects), err)
	}
	for i, it := range items {
		if it.Err != nil {
			return fmt.Errorf("item %d: %w", i, it.Err)
		}
		if err := r.compare(it, objects[i], kind, said[i], watch); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	for i, obj := range r.returned {
		if is := printed(obj); is != r.was[i] {
			return fmt.Errorf("what was returned before became\n%s, was\n%s", is, r.was[i])
		}
	}
	for _, it := range items {
		r.held.put(it)
		r.returned, r.was = append(r.returned, it.Object), append(r.was, printed(it.Object))
	}
	return nil
}

// decode sends the objects as a list or a watch.
func (r *rig) decode(dec *decoder[runtime.Object], kind string, watch bool, objects []string) ([]Item[runtime.Object], error) {
	var body string
	if watch {
		for _, o := range objects {
			body += r.shuffled(`"type":"MODIFIED"`, `"object":`+o) + "\n"
		}
	} else {
		r.listKind = kind + "List"
		if _, any := r.example.(*unstructured.Unstructured); any {
			// A custom resource may name its list as it likes.
			r.listKind = []string{kind + "List", kind + "s", "All" + kind, kind}[r.rand.IntN(4)]
		}
		members := []string{fmt.Sprintf(`"kind":%q`, r.listKind), fmt.Sprintf(`"apiVersion":%q`, r.gv), `"items":[` + strings.Join(objects, ",") + `]`}
		if r.rand.IntN(2) == 0 {
			members = append(members, `"metadata":{"resourceVersion":"9"}`)
		}
		body = r.shuffled(members...)
	}
	r.log[len(r.log)-1] = body
	var stream io.Reader = strings.NewReader(body)
	if r.rand.IntN(2) == 0 {
		stream = iotest.OneByteReader(stream)
	}
	if watch {
		var got watched[runtime.Object]
		err := dec.watch(stream, r.held.get, nil, got.batch)
		return itemsOf(got.events), err
	}
	var got listed[runtime.Object]
	err := dec.list(false, stream, r.held.get, nil, got.page)
	return got.items, err
}

// object is one in JSON.
func (r *rig) object(kind, name string, said bool) string {
	version := r.rand.IntN(2)
	members := []string{fmt.Sprintf(`"metadata":{"name":%q,"resourceVersion":"%d","labels":{"a":"a label that is long enough to be shared"}}`, name, version)}
	if said {
		members = append(members, fmt.Sprintf(`"apiVersion":%q`, r.gv), fmt.Sprintf(`"kind":%q`, kind))
	}
	if _, pod := r.example.(*corev1.Pod); !pod {
		members = append(members, `"spec":{"a":"a value that is long enough to be shared"}`)
	}
	return r.shuffled(members...)
}

func (r *rig) shuffled(members ...string) string {
	r.rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// compare holds an item against apimachinery's decoding of its bytes.
func (r *rig) compare(it Item[runtime.Object], raw, kind string, said, watch bool) error {
	want := reflect.New(reflect.TypeOf(r.example).Elem()).Interface().(runtime.Object)
	if u, ok := want.(*unstructured.Unstructured); ok {
		if err := json.Unmarshal([]byte(raw), &u.Object); err != nil {
			return err
		}
		if !said {
			u.SetGroupVersionKind(r.gv.WithKind(strings.TrimSuffix(r.listKind, "List")))
		}
	} else if err := json.Unmarshal([]byte(raw), want); err != nil {
		return err
	}
	_, metadata := want.(*metav1.PartialObjectMetadata)
	switch {
	case metadata && !r.interceptor:
		want.GetObjectKind().SetGroupVersionKind(partialKind)
	case watch && want.GetObjectKind() != nil && reflect.TypeOf(want) != reflect.TypeFor[*unstructured.Unstructured]():
		want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	if reflect.DeepEqual(want, it.Object) {
		return nil
	}
	// A typed object that is held keeps the kind that it has, or has none.
	held, _, _ := r.held.get(it.Key)
	if _, any := want.(*unstructured.Unstructured); !any && held == it.Object && kindless(held) == kindless(want) {
		return nil
	}
	return fmt.Errorf("it is\n%s, want\n%s", printed(it.Object), printed(want))
}

func printed(obj runtime.Object) string { return fmt.Sprint(string(must(json.Marshal(obj)))) }

// kindless is an object without what it says of its kind.
func kindless(obj runtime.Object) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(printed(obj)), &m); err != nil {
		panic(err)
	}
	for _, name := range []string{"kind", "apiVersion", "type"} {
		delete(m, name)
	}
	var b bytes.Buffer
	fmt.Fprint(&b, m)
	return b.String()
}

func TestRandomListsAndWatchesMeanWhatApimachinerySaysAndChangeNothingThatIsHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range 300 {
		if err := rigTrial(r.Uint64()); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzShapes(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := rigTrial(seed); err != nil {
			t.Error(err)
		}
	})
}
