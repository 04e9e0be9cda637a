package protobuf

import (
	"errors"
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

type podObject = corev1.Pod

// allocated is how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// tree is a type that contains itself in all the ways there are.
type tree struct {
	Name string          `json:"name" protobuf:"bytes,1,opt,name=name"`
	Left *tree           `json:"left" protobuf:"bytes,2,opt,name=left"`
	Kids []tree          `json:"kids" protobuf:"bytes,3,rep,name=kids"`
	Map  map[string]tree `json:"map" protobuf:"bytes,4,rep,name=map"`
}

// Unmarshal is what gogo would generate, in short; the name of its file, which
// tells that, is that of a generated one.
//
//line tree.pb.go:1
func (x *tree) Unmarshal(raw []byte) error {
	for i := 0; i < len(raw); {
		number, wire, next := tagAt(raw, i)
		if next < 0 {
			return errors.New("broken")
		}
		begin, end := extent(raw, next)
		if number > 4 || wire != wireBytes || end < 0 {
			if i = skip(raw, next, wire); i < 0 || number <= 4 {
				return errors.New("broken")
			}
			continue
		}
		b := raw[begin:end]
		var err error
		switch number {
		case 1:
			x.Name = string(b)
		case 2:
			if x.Left == nil {
				x.Left = &tree{}
			}
			err = x.Left.Unmarshal(b)
		case 3:
			x.Kids = append(x.Kids, tree{})
			err = x.Kids[len(x.Kids)-1].Unmarshal(b)
		case 4:
			err = x.entry(b)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

//line nested_test.go:76
func (x *tree) entry(b []byte) error {
	var key string
	var value tree
	for i := 0; i < len(b); {
		number, wire, next := tagAt(b, i)
		begin, end := extent(b, max(next, 0))
		if next < 0 || wire != wireBytes || end < 0 {
			return errors.New("broken")
		}
		switch number {
		case 1:
			key = string(b[begin:end])
		case 2:
			value = tree{}
			if err := value.Unmarshal(b[begin:end]); err != nil {
				return err
			}
		}
		i = end
	}
	if x.Map == nil {
		x.Map = map[string]tree{}
	}
	x.Map[key] = value
	return nil
}

var treeType = reflect.TypeFor[tree]()

// nested is a tree of a depth; way says by which field it goes down.
func nested(depth int, way byte) []byte {
	raw := wrap(1, []byte("the innermost"))
	for range depth - 1 {
		if way == 4 {
			raw = append(wrap(1, []byte("key")), wrap(2, raw)...)
		}
		raw = wrap(way, raw)
	}
	return raw
}

func TestMessagesThatNestAreDecodedUpToTheDepthThatIsStated(t *testing.T) {
	p := compile(t, treeType)
	if p.root.foreign || p.whole == nil {
		t.Fatal("the tree is not planned, or not known to nest")
	}
	s := share.NewSession(share.NewTable(0))
	for way := byte(2); way <= 4; way++ {
		for _, depth := range []int{1, 2, 30, 100, 101, 102, MaxDepth} {
			raw := nested(depth, way)
			want := &tree{}
			if err := want.Unmarshal(raw); err != nil {
				t.Fatal(err)
			}
			res, _, err := p.Decode(s, raw, share.Version{})
			if err != nil || !reflect.DeepEqual((*tree)(res.Object), want) {
				t.Fatalf("field %d, depth %d: %v", way, depth, err)
			}
			if again := mustDecode(t, p, s, raw, res); !reflect.DeepEqual((*tree)(again.Object), want) {
				t.Fatalf("field %d, depth %d: another one the second time", way, depth)
			}
		}
		for _, depth := range []int{MaxDepth + 1, 3_000} {
			raw := nested(depth, way)
			var e *DepthError
			if _, _, err := p.Decode(s, raw, share.Version{}); !errors.As(err, &e) {
				t.Fatalf("field %d, depth %d: %v", way, depth, err)
			}
		}
		// What stands in front must not hide the depth.
		for name, front := range map[string][]byte{
			"an overlong varint": {0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "a fixed number": {0x29, 1, 2, 3, 4, 5, 6, 7, 8},
			"unknown bytes": {0x2a, 0x01, 0x00}, "another branch": nested(3, 3),
		} {
			var e *DepthError
			if _, _, err := p.Decode(s, append(front, nested(MaxDepth+1, way)...), share.Version{}); !errors.As(err, &e) {
				t.Errorf("field %d behind %s: %v", way, name, err)
			}
		}
	}
}

// bomb panics, as generated code has done on some bytes.
type bomb struct{}

func (*bomb) Unmarshal([]byte) error { panic(errors.ErrUnsupported) }

func TestAPanicOfTheOfficialDecoderIsAnError(t *testing.T) {
	p := compile(t, reflect.TypeFor[bomb]())
	_, _, err := p.Decode(share.NewSession(nil), nil, share.Version{})
	var e *official.PanicError
	if !errors.As(err, &e) || !errors.Is(err, errors.ErrUnsupported) || len(e.Stack) == 0 {
		t.Fatal(err)
	}
}

func TestATypeWithoutProtobufHasNoPlan(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[struct{ Name string }](), reflect.TypeFor[string](), reflect.TypeFor[*tree]()} {
		_, err := Compile(typ, nil)
		if e, ok := err.(*TypeError); !ok || e.Type != typ {
			t.Errorf("%v: %v", typ, err)
		}
	}
}
