package json

import (
	stdjson "encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

type (
	text    string
	enabled bool
	// Inlined has a field that ruled has too, and one that it hides.
	Inlined struct {
		Kept   string `json:"kept"`
		Hidden string `json:"hidden"`
		Twice  string
	}
	Other struct {
		Twice string
	}
	upper struct{ s string }
	keyed struct{ s string }
	// ruled has every kind of field.
	ruled struct {
		metav1.TypeMeta `json:",inline"`
		Inlined         `json:",inline"`
		Other
		Hidden   string `json:"hidden,omitempty"`
		Untagged string //
		Ignored  string `json:"-"`
		//lint:ignore SA5008 that this tag names a field is part of the rules
		Dash       string             `json:"-,"`
		unexported string             //
		Text       text               `json:"text"`
		Enabled    enabled            `json:"enabled"`
		I8         int8               `json:"i8"`
		I16        int16              `json:"i16"`
		I64        int64              `json:"i64"`
		U8         uint8              `json:"u8"`
		U16        uint16             `json:"u16"`
		U32        uint32             `json:"u32"`
		U64        uint64             `json:"u64"`
		F32        float32            `json:"f32"`
		F64        float64            `json:"f64"`
		Bytes      []byte             `json:"bytes"`
		Any        any                `json:"any"`
		Array      [2]int             `json:"array"`
		Number     stdjson.Number     `json:"number"`
		Strings    []string           `json:"strings"`
		Slices     [][]string         `json:"slices"`
		Deep       **string           `json:"deep"`
		Self       *ruled             `json:"self"`
		Ints       map[int]string     `json:"ints"`
		Uints      map[uint8][]int    `json:"uints"`
		Names      map[text]text      `json:"names"`
		Keyed      map[keyed]int      `json:"keyed"`
		Structs    map[string]Inlined `json:"structs"`
		Pointers   []*Inlined         `json:"pointers"`
		Upper      upper              `json:"upper"`
		UpperPtr   *upper             `json:"upperPtr"`
		Key        keyed              `json:"key"`
		Time       metav1.Time        `json:"time"`
		Micro      *metav1.MicroTime  `json:"micro"`
		Quantity   *resource.Quantity `json:"quantity"`
		Either     intstr.IntOrString `json:"either"`
		Duration   metav1.Duration    `json:"duration"`
		Flag       *enabled           `json:"flag"`
		Small      *int32             `json:"small"`
		Quoted     struct {
			N int `json:"n,string"`
		} `json:"quoted"`
		Embedding struct{ *Other } `json:"embedding"`
	}
)

func (u *upper) UnmarshalJSON(b []byte) error {
	if string(b) == `"panic"` {
		panic(b)
	}
	u.s = strings.ToUpper(string(b))
	return nil
}

func (k *keyed) UnmarshalText(b []byte) error { k.s = string(b); return nil }

// keepsJSON and keepsText keep their argument, as json.Unmarshaler forbids. Nothing comes of
// that where each response has memory of its own.
type (
	keepsJSON struct{ Raw []byte }
	keepsText struct{ Raw []byte }
)

func (k *keepsJSON) UnmarshalJSON(b []byte) error { k.Raw = b; return nil }

func (k *keepsText) UnmarshalText(b []byte) error { k.Raw = b; return nil }

func TestATypeMayKeepTheBytesThatItDecodes(t *testing.T) {
	type object struct {
		JSON keepsJSON             `json:"json"`
		Text *keepsText            `json:"text"`
		List []keepsJSON           `json:"list"`
		Map  map[string]*keepsJSON `json:"map"`
	}
	p, err := Compile(reflect.TypeFor[object](), nil)
	if err != nil {
		t.Fatal(err)
	}
	var last share.Version
	for _, raw := range []string{`{"json":{"a":1},"text":"b","list":[1,{"c":2}],"map":{"d":[3]}}`, `{"json":{"a":2},"text":"c","list":[{"c":2},4],"map":{"d":[3],"e":5}}`} {
		r := p.mustEqual(t, share.NewSession(share.NewTable(1<<20)), []byte(raw), last)
		last = share.VersionOf(r.Object, r.Memo)
	}
}

func TestRulesOfEncodingAreTheOfficialDecoders(t *testing.T) {
	p, err := Compile(reflect.TypeFor[ruled](), nil)
	if err != nil {
		t.Fatal(err)
	}
	if (ruled{}).unexported != "" {
		t.Fatal("a field that must not be decoded is set")
	}
	s := share.NewSession(share.NewTable(0))
	long := strings.Repeat("long ", 10)
	values := []string{
		"null", "true", "false", "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "65535", "65536", "2147483648",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1.5", "1e3", "1E400", "3.5e38", "01", "1.", ".5", "+1", "-",
		`""`, `"a"`, `"` + long + `"`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d"`, `"\x"`, `"\u12g4"`, `"` + "\xff" + `"`, `"é"`, "\"\x01\"",
		`"YWJj"`, `"YWI="`, `"YW Jj"`, `"12"`, `"100m"`, `"1000m"`, `" 1"`, `"0.5"`, `"1Gi"`, `"5s"`,
		`"2024-02-29T12:00:00Z"`, `"2023-02-29T12:00:00Z"`, `"2024-02-29T12:00:00+02:00"`, `"2024-02-29T12:00:00.123456Z"`,
		"[]", "[1]", "[1,2,3]", "[null]", `["a","b"]`, `["a",]`, `[["a"],[],null]`, "[1 2]", `[{"kept":"x"},null]`,
		"{}", `{"1":"a","-2":"b"}`, `{"1":[1],"256":[]}`, `{"a":"b","a":"c"}`, `{"a":null}`, `{"a":1}`, `{"a":{"kept":"x"}}`, `{"kept":"x","Kept":"y"}`,
		`{"n":"5"}`, `{"n":5}`, `{"Twice":"x"}`, `{"a":"b",}`, `{"a" "b"}`, `{a:1}`, `{"self":{"text":"t"},"text":"u"}`, `{"text":"` + long + `"}`,
		`"panic"`, "nul", "tru", "]", "",
	}
	for _, m := range append(members(p), gotype.Member{Name: "unknown"}, gotype.Member{Name: "TEXT"}, gotype.Member{Name: "Twice"}, gotype.Member{Name: "-"}, gotype.Member{Name: "Ignored"}, gotype.Member{Name: "unexported"}) {
		var last share.Result
		for _, v := range values {
			for _, raw := range []string{
				`{"` + m.Name + `":` + v + `}`,
				" {\n\"untagged\" : 1 , \"Untagged\":\"x\",\t\"" + m.Name + "\" : " + v + " } ",
				`{"self":{"self":{"` + m.Name + `":` + v + `}}}`,
				`{"text":"x","` + m.Name + `":` + v + `,"` + m.Name + `":` + v + `}`,
			} {
				r, ok := p.mustAgreeGuarded(t, s, []byte(raw), last)
				p.mustAgreeGuarded(t, share.NewSession(nil), []byte(raw), share.Result{})
				if ok {
					last = r
				}
			}
		}
	}
}

// mustAgreeGuarded is mustAgree where the official decoder may panic.
func (p *Plan) mustAgreeGuarded(t *testing.T, s *share.Session, raw []byte, last share.Result) (share.Result, bool) {
	t.Helper()
	if !strings.Contains(string(raw), `"panic"`) || !strings.Contains(strings.ToLower(string(raw)), "upper") {
		return p.mustAgree(t, s, raw, last.Version())
	}
	_, _, err := p.Decode(s, raw, last.Version())
	if _, ok := err.(*official.PanicError); !ok && !strings.Contains(string(raw), "unknown") {
		t.Fatalf("%s: %v, want a panic that became an error", raw, err)
	}
	return share.Result{}, false
}

func TestKindAndVersionAreOfTheResultAndNotOfTheObject(t *testing.T) {
	p := podPlan(t)
	s := share.NewSession(share.NewTable(0))
	const named = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"app":"something of some length"}},"status":{"phase":"Running"}}`
	const item = `{"metadata":{"name":"a","labels":{"app":"something of some length"}},"status":{"phase":"Running"}}`
	first := p.mustEqual(t, s, []byte(named), share.Version{})
	if first.Kind != "Pod" || first.APIVersion != "v1" {
		t.Fatalf("%+v", first)
	}
	for _, raw := range []string{item, named} {
		r := p.mustEqual(t, s, []byte(raw), first.Version())
		if !r.Same || r.Memo != first.Memo {
			t.Errorf("%s: not the same: %+v", raw, r)
		}
	}
	// Also where something else had to be looked into.
	second := p.mustEqual(t, s, []byte(strings.Replace(named, "Running", "Failed", 1)), first.Version())
	third := p.mustEqual(t, s, []byte(item), second.Version())
	if second.Same || third.Same {
		t.Fatal("a change was not seen")
	}
	if r := p.mustEqual(t, s, []byte(named), third.Version()); !r.Same {
		t.Error("not the same as an item")
	}
}

func TestWhatFollowsAnObjectIsNotRead(t *testing.T) {
	p := podPlan(t)
	s := share.NewSession(share.NewTable(0))
	raw := podBytes(1, 1, 0)
	held := p.mustEqual(t, s, raw, share.Version{})
	for _, tail := range []string{"", "}", ",{", "garbage", "\n", strings.Repeat("x", 100)} {
		for _, last := range []share.Result{{}, held} {
			b := append([]byte(" \n"), raw...)
			b = append(b, tail...)
			if _, n, err := p.Decode(s, b, last.Version()); n != len(raw)+2 || err != nil {
				t.Errorf("%d of %d bytes, %v", n, len(raw)+2, err)
			}
		}
	}
	for i := range raw {
		if _, n, err := p.Decode(s, raw[:i:i], held.Version()); n != 0 || err == nil || err.Error() != "unexpected EOF" {
			t.Fatalf("%d bytes of %d: %d, %v", i, len(raw), n, err)
		}
	}
}

func TestTypesThatAreNotDecodedFieldByFieldDoNotCompile(t *testing.T) {
	for _, typ := range []reflect.Type{
		nil, reflect.TypeFor[string](), reflect.TypeFor[*ruled](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[upper](), reflect.TypeFor[keyed](),
		reflect.TypeFor[struct {
			N int `json:",string"`
		}](),
		reflect.TypeFor[struct{ *Other }](),
		reflect.TypeFor[struct{ A struct{ metav1.Time } }](),
	} {
		if p, err := Compile(typ, nil); err == nil {
			t.Errorf("%v compiled: %v", typ, p.root)
		} else if _, ok := err.(*TypeError); !ok {
			t.Errorf("%v: %v", typ, err)
		}
	}
}
