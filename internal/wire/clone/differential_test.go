package clone

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
)

// kinds are the Go types of client-go's scheme, those that are not in it and that
// caches hold, and those of types_test.go.
var kinds = func() []reflect.Type {
	types := map[reflect.Type]bool{
		reflect.TypeFor[metav1.PartialObjectMetadata]():     true,
		reflect.TypeFor[metav1.PartialObjectMetadataList](): true,
		reflect.TypeFor[metav1.Table]():                     true,
		reflect.TypeFor[unstructured.Unstructured]():        true,
		reflect.TypeFor[unstructured.UnstructuredList]():    true,
		reflect.TypeFor[custom]():                           true,
		reflect.TypeFor[recursive]():                        true,
		reflect.TypeFor[byHand]():                           true,
		reflect.TypeFor[withInterface]():                    true,
	}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		types[t] = true
	}
	return slices.SortedFunc(maps.Keys(types), func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+"."+a.Name(), b.PkgPath()+"."+b.Name())
	})
}()

// inMemory returns a filler of objects as they may be in memory.
func inMemory(s *filler.Script) *filler.Filler {
	return &filler.Filler{Script: s, Budget: 2000, Memory: true}
}

// compare fills an object, copies it to where another is, and compares the copy with
// that of DeepCopyInto.
func compare(f *filler.Filler, t reflect.Type) error {
	plan := Of(reflect.PointerTo(t))
	if plan == nil {
		return fmt.Errorf("%v has no plan", t)
	}
	from, to, want := reflect.New(t), reflect.New(t), reflect.New(t)
	f.Fill(from.Elem(), 0)
	f.Budget = 100
	f.Fill(to.Elem(), 0)
	from.MethodByName("DeepCopyInto").Call([]reflect.Value{want})
	// The third copy is made in one allocation: see layouts.
	for range 2 {
		plan.Copy(reflect.New(t).Interface(), from.Interface())
	}
	plan.Copy(to.Interface(), from.Interface())
	if !reflect.DeepEqual(to.Interface(), want.Interface()) {
		return fmt.Errorf("%v: %s", t, cmp.Diff(want.Interface(), to.Interface(), cmp.Exporter(func(reflect.Type) bool { return true })))
	}
	copied := spansOf(to.Interface())
	if err := overlap(copied); err != nil {
		return fmt.Errorf("%v: within the copy %w", t, err)
	}
	if err := overlap(append(copied, spansOf(from.Interface())...)); err != nil {
		return fmt.Errorf("%v: the copy and the original: %w", t, err)
	}
	return nil
}

func TestACopyIsThatOfDeepCopyIntoForEveryKindAndSharesNothing(t *testing.T) {
	seed := testkit.Seed(t)
	for _, typ := range kinds {
		for n := range uint64(testkit.Trials(40)) {
			if err := compare(inMemory(filler.Random(rand.New(rand.NewPCG(seed, n)))), typ); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d kinds", len(kinds))
}

func FuzzACopyIsThatOfDeepCopyInto(f *testing.F) {
	for i := range uint16(30) {
		f.Add(binary.LittleEndian.AppendUint16(nil, i*40), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, which, script []byte) {
		n := 0
		for _, b := range which {
			n = n<<8 | int(b)
		}
		if err := compare(inMemory(filler.NewScript(script)), kinds[uint(n)%uint(len(kinds))]); err != nil {
			t.Error(err)
		}
	})
}

// trial compares some kinds, those of types_test.go always.
func trial(seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 0))
	types := []reflect.Type{reflect.TypeFor[custom](), reflect.TypeFor[unstructured.Unstructured]()}
	for range 4 {
		types = append(types, kinds[rnd.IntN(len(kinds))])
	}
	for _, t := range types {
		if err := compare(inMemory(filler.Random(rnd)), t); err != nil {
			return err
		}
	}
	return nil
}

func TestTrialsPass(t *testing.T) {
	for seed := range uint64(testkit.Trials(200)) {
		if err := trial(seed); err != nil {
			t.Fatal(seed, err)
		}
	}
}
