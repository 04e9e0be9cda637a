package wire

import (
	"encoding/binary"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/clone"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/structure"
)

// The rig again, over types that somebody may write: names of one length with equal
// ends, odd tags, embedding, inherited methods, and types that lead back to themselves.

var hostileTypes = flag.Int("types", testkit.Trials(30), "how many types are made for the decoders")

// Types that reflect.StructOf cannot make.
type (
	tree   []tree
	forest map[string]forest
	chain  *chain
	ring   struct {
		Next *ring           `json:"next,omitempty"`
		All  []ring          `json:"all,omitempty"`
		By   map[string]ring `json:"by,omitempty"`
		Own  string          `json:"own,omitempty"`
	}
	// A coil is in the memory of what it leads to.
	coil struct {
		Turn *turn  `json:"turn,omitempty"`
		Own  string `json:"own,omitempty"`
	}
	turn struct {
		Coil coil `json:"coil"`
		Wire struct {
			Coil coil `json:"coil"`
		} `json:"wire"`
	}
	// Knots refer to each other in every way: there are 15! simple paths.
	knots struct {
		A *knotA
		B *knotB
		C []knotC
		D *knotD
		E *knotE
		F *knotF
		G []knotG
		H *knotH
		I *knotI
		J *knotJ
		K []knotK
		L *knotL
		M *knotM
		N *knotN
		O string
	}
	knotA knots
	knotB knots
	knotC knots
	knotD knots
	knotE knots
	knotF knots
	knotG knots
	knotH knots
	knotI knots
	knotJ knots
	knotK knots
	knotL knots
	knotM knots
	knotN knots
	// vast has 2^64 fields without memory, and as many elements.
	vast [1 << 40][1 << 20]void
	void struct{}
	fork struct {
		L, R   [0]string
		Ls, Rs vast
	}
	// balks cannot be decoded at all.
	balks struct{}
	// bough is as wide as it looks, level by level.
	bough[A any] struct {
		L A `json:"l"`
		R A `json:"r"`
	}
	// Inherited methods: each knows the embedded type alone.
	InheritsJSON struct {
		metav1.Time
		Extra string `json:"extra,omitempty"`
	}
	InheritsText struct {
		resource.Quantity
		Extra string `json:"extra,omitempty"`
	}
	inheritsProtobuf struct {
		metav1.PartialObjectMetadata `json:",inline"`
		Spec                         map[string]string `json:"spec,omitempty"`
	}
	inheritsPod struct {
		corev1.Pod `json:",inline"`
		Extra      *corev1.PodSpec `json:"extra,omitempty"`
	}
	// Two that are embedded leave the type without either's UnmarshalJSON.
	InheritsNeither struct {
		metav1.Time
		metav1.MicroTime
		Extra string `json:"extra,omitempty"`
	}
	Embedded struct {
		Name  string            `json:"name,omitempty"`
		Names map[string]string `json:"names,omitempty"`
		Ring  *ring             `json:"ring,omitempty"`
	}
	// hidden is embedded under its own name, and inline: its fields are exported.
	hidden struct {
		Image string            `json:"image,omitempty"`
		Args  map[string]string `json:"args,omitempty"`
	}
	HasHidden struct {
		hidden `json:",inline"`
		Own    string `json:"own,omitempty"`
	}
	NamesHidden struct {
		hidden `json:"hidden"`
		Own    string `json:"own,omitempty"`
	}
	// Decoders of which encoding/json calls none, since the names are not exported.
	yells       struct{ A, B string }
	shouts      struct{ A, C string }
	hasDecoders struct {
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			yells  `json:"yells"`
			shouts `json:"shouts"`
			Own    string `json:"own,omitempty"`
		} `json:"spec"`
	}
	// Kin know what they are part of, and each other, which their decoder sets.
	Kin struct {
		Name string          `json:"name,omitempty"`
		Kids []*Kin          `json:"kids,omitempty"`
		Up   *Kin            `json:"-"`
		By   map[string]*Kin `json:"-"`
	}
	fromNamed struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Tree              tree             `json:"tree,omitempty"`
		Forest            forest           `json:"forest,omitempty"`
		Chain             chain            `json:"chain,omitempty"`
		Ring              ring             `json:"ring"`
		Coil              coil             `json:"coil"`
		Knots             *knots           `json:"knots,omitempty"`
		JSON              *InheritsJSON    `json:"json,omitempty"`
		Text              *InheritsText    `json:"text,omitempty"`
		Neither           *InheritsNeither `json:"neither,omitempty"`
		HasHidden         HasHidden        `json:"hasHidden"`
		NamesHidden       *NamesHidden     `json:"namesHidden,omitempty"`
		Kin               *Kin             `json:"kin,omitempty"`
		// Of crossplane-contrib/provider-upjet-aws and of k8s.io/kubelet.
		LocalIPv4                 string `json:"localIpv4NetworkCidr,omitempty"`
		LocalIPv6                 string `json:"localIpv6NetworkCidr,omitempty"`
		NodeStatusReportFrequency int    `json:"nodeStatusReportFrequency,omitempty"`
		NodeStatusUpdateFrequency int    `json:"nodeStatusUpdateFrequency,omitempty"`
	}
	// tooLarge leads to more parts than a plan may have, in few types.
	tooLarge struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Wide              *bough[bough[bough[bough[bough[bough[bough[bough[bough[bough[bough[bough[bough[bough[string]]]]]]]]]]]]]] `json:"wide,omitempty"`
	}
)

func (y *yells) UnmarshalJSON(raw []byte) error  { y.A = "its own: " + string(raw); return nil }
func (s *shouts) UnmarshalJSON(raw []byte) error { s.A = "its own: " + string(raw); return nil }

func (*balks) UnmarshalJSON([]byte) error { panic("balks") }

func (k *Kin) UnmarshalJSON(raw []byte) error {
	type plain Kin
	if err := stdjson.Unmarshal(raw, (*plain)(k)); err != nil {
		return err
	}
	k.By = map[string]*Kin{"": k}
	for _, kid := range k.Kids {
		if kid != nil {
			kid.Up, kid.By[".."], k.By[kid.Name] = k, k, kid
		}
	}
	return nil
}

// hostile makes types.
type hostile struct {
	*filler.Script
	// left is how many more fields a type may have.
	left int
}

// No chain is among them: the official decoder has no end of one that is not null.
var leaves = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[int64](), reflect.TypeFor[int32](), reflect.TypeFor[uint8](), reflect.TypeFor[bool](),
	reflect.TypeFor[float64](), reflect.TypeFor[float32](), reflect.TypeFor[[]byte](), reflect.TypeFor[any](), reflect.TypeFor[[2]string](), reflect.TypeFor[[0]func()](),
	reflect.TypeFor[void](), reflect.TypeFor[time.Duration](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](),
	reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[limits](), reflect.TypeFor[message](), reflect.TypeFor[shadowing](),
	reflect.TypeFor[tree](), reflect.TypeFor[forest](), reflect.TypeFor[ring](), reflect.TypeFor[coil](), reflect.TypeFor[knotA](), reflect.TypeFor[corev1.PodSpec](),
	reflect.TypeFor[InheritsJSON](), reflect.TypeFor[InheritsText](), reflect.TypeFor[InheritsNeither](), reflect.TypeFor[measured](), reflect.TypeFor[quoted](),
	reflect.TypeFor[HasHidden](), reflect.TypeFor[NamesHidden](), reflect.TypeFor[Kin](),
}

func (h *hostile) typ(deep int) reflect.Type {
	if deep > 4 || h.left <= 0 || h.OneIn(3) {
		return filler.Pick(h.Script, leaves)
	}
	switch h.Intn(6) {
	case 0:
		return reflect.PointerTo(h.typ(deep + 1))
	case 3:
		return reflect.ArrayOf(1+h.Intn(2), h.typ(deep+1))
	case 1:
		return reflect.SliceOf(h.typ(deep + 1))
	case 2:
		key := filler.Pick(h.Script, []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[corev1.ResourceName](), reflect.TypeFor[int64](), reflect.TypeFor[bool]()})
		return reflect.MapOf(key, h.typ(deep+1))
	}
	return h.structure(deep + 1)
}

func (h *hostile) structure(deep int) reflect.Type {
	n := 1 + h.Intn(8)
	switch h.Intn(12) {
	case 0:
		n = 40
	case 1:
		n = 40 * (1 + h.Intn(8))
	}
	h.left -= n
	name := h.names()
	var list []reflect.StructField
	for i := range n {
		f := reflect.StructField{Name: fmt.Sprint("F", i), Type: filler.Pick(h.Script, leaves[:10])}
		if n < 20 {
			f.Type = h.typ(deep)
		}
		switch h.Intn(20) {
		case 0:
			f.Name, f.PkgPath = fmt.Sprint("f", i), "example.com/hostile"
		case 1, 2:
			if typ := reflect.TypeFor[Embedded](); i == 0 {
				f.Name, f.Type, f.Anonymous = "Embedded", typ, true
				if h.OneIn(3) {
					f.Type = reflect.PointerTo(typ)
				}
			}
		}
		option := filler.Pick(h.Script, []string{"", ",omitempty", ",omitempty", ",omitzero", ",string", ",inline", ",omitempty,string"})
		if f.Anonymous {
			f.Tag = reflect.StructTag(filler.Pick(h.Script, []string{"", `json:",inline"`, `json:"embedded"`, `json:"-"`}))
		} else {
			f.Tag = reflect.StructTag(fmt.Sprintf("json:%q", name(i)+option))
		}
		list = append(list, f)
	}
	return reflect.StructOf(list)
}

// names returns a function that names the fields of a struct.
func (h *hostile) names() func(i int) string {
	ends := filler.Pick(h.Script, []string{"12345678", "networkC", "aaaaaaaa", "日本日"})
	long := strings.Repeat("ab", h.Intn(40))
	switch h.Intn(7) {
	case 0: // one length, equal ends
		return func(i int) string { return ends + fmt.Sprintf("%04d", i) + ends }
	case 1: // equal in all but one byte of a long middle
		return func(i int) string { return ends + long + string(rune('0'+i%75)) + long + ends }
	case 2: // each the beginning of the next
		return func(i int) string { return strings.Repeat("a", i+1) }
	case 3: // equal ends, with another length
		return func(i int) string { return ends + strings.Repeat("x", i) + ends }
	case 4: // alike but for their case, some twice
		return func(i int) string {
			return filler.Pick(h.Script, []string{"name", "Name", "NAME", "nAme", "nam", "names"})
		}
	case 5: // odd ones
		return func(i int) string {
			return filler.Pick(h.Script, []string{"", "-", "$ref", "a.b/c", "with space", "ünïcode", "日本語", `quo"te`, `back\slash`, "a,b", "metadata", "kind", "apiVersion", "items"})
		}
	}
	return func(i int) string { return fmt.Sprintf("field%d", i) }
}

// root is the type of an object.
func (h *hostile) root() reflect.Type {
	list := []reflect.StructField{
		{Name: "Metadata", Type: reflect.TypeFor[metav1.ObjectMeta](), Tag: `json:"metadata,omitempty"`},
		{Name: "Spec", Type: h.structure(0), Tag: `json:"spec"`},
		{Name: "Status", Type: h.typ(0), Tag: `json:"status"`},
	}
	return reflect.StructOf(list[:2+h.Intn(2)])
}

// dropsOf are paths that the second decoder drops.
func (h *hostile) dropsOf(typ reflect.Type) []string {
	drop := []string{"metadata.annotations"}
	if spec, ok := typ.FieldByName("Spec"); ok && spec.Type.Kind() == reflect.Struct {
		// A type that is too large has no plan, whatever it drops.
		if t, err := gotype.Of(spec.Type); err == nil && len(t.Members()) > 0 {
			path := "spec." + filler.Pick(h.Script, t.Members()).Name
			if _, err := gotype.DropsOf(typ, nil, []string{path}); err == nil && timesNamed(spec.Type, path) == 1 {
				drop = append(drop, path)
			}
		}
	}
	return drop
}

// timesNamed is how many fields of a struct have the name at a path's end, as dropField
// sees it.
func timesNamed(typ reflect.Type, path string) (n int) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); "spec."+name == path {
			n++
		}
	}
	return n
}

// plansOf compiles every plan of a type, and reports what each took. A type that is left
// to others has none. It also fills the type's fields, and asks a function what it reads.
func plansOf(typ reflect.Type) (bytes, each uint64, took time.Duration) {
	stuck := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("the plan of %v is not compiled", typ)) })
	defer stuck.Stop()
	for _, compile := range []func(){
		func() { _, _ = gotype.Of(typ) },
		func() { _, _ = json.Compile(typ, nil) },
		func() { _, _ = protobuf.Compile(typ, nil) },
		func() { _, _ = structure.Compile(typ) },
		func() { clone.Of(reflect.PointerTo(typ)) },
	} {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		start := time.Now()
		compile()
		took = max(took, time.Since(start))
		goruntime.ReadMemStats(&after)
		bytes += after.TotalAlloc - before.TotalAlloc
		each = max(each, after.TotalAlloc-before.TotalAlloc)
	}
	drops := filler.Fields(typ)
	drops.Fill(reflect.New(typ))
	drops.Reads(typ, func(obj any) any { return obj })
	return bytes, each, took
}

// maxPlanBytes is the most that compiling a plan may allocate: that of gotype.MaxParts.
const maxPlanBytes = 12 << 20

func TestTypesOfAnyShapeAreDecodedAsTheOfficialDecoderDoes(t *testing.T) {
	seed := testkit.Seed(t)
	named := []reflect.Type{
		reflect.TypeFor[fromNamed](), reflect.TypeFor[inheritsProtobuf](), reflect.TypeFor[inheritsPod](), reflect.TypeFor[tooLarge](), reflect.TypeFor[knots](), reflect.TypeFor[hasDecoders](),
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[fork](), reflect.TypeFor[struct{ F balks }]()} {
		if bytes, _, _ := plansOf(typ); bytes > maxPlanBytes {
			t.Errorf("plans of %v, a type without memory, allocate %d bytes", typ, bytes)
		}
	}
	var decodings, left int
	var most uint64
	var slowest time.Duration
	for i := range len(named) + *hostileTypes {
		script := func(n int) *filler.Script {
			return filler.NewScript(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, seed+uint64(i)), uint64(n)))
		}
		h := &hostile{Script: script(0), left: 400}
		var of subject
		if i < len(named) {
			of = subject{typ: named[i]}
		} else {
			of.typ = h.root()
			of.drop = h.dropsOf(of.typ)
		}
		_, bytes, took := plansOf(of.typ)
		if most, slowest = max(most, bytes), max(slowest, took); bytes > maxPlanBytes {
			t.Errorf("-seed %d: a plan of %v allocates %d bytes", seed+uint64(i), of.typ, bytes)
		}
		for n := range 6 {
			r, err := newRigOf(of, script(1+n))
			if err != nil {
				left++
				break
			}
			err = r.run(rigSteps)
			if decodings += r.decodings; err != nil {
				t.Fatalf("-seed %d, script %d: %v", seed+uint64(i), n, err)
			}
		}
	}
	if left > 2+*hostileTypes/10 {
		t.Errorf("%d of %d types are left to the official decoders", left, *hostileTypes)
	}
	t.Logf("%d types, %d left to the official decoders, %d versions; the slowest plan took %v, the largest %d bytes", len(named)+*hostileTypes, left, decodings, slowest, most)
}
