package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// toucher has hidden state that its readers write to. Touch is such a reader.
type toucher interface{ Touch() }

// The types of this file embed, shadow, decode themselves and hide state, as
// types of custom resources do.
type (
	// custom is a custom resource in JSON.
	custom struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              customSpec    `json:"spec,omitempty"`
		Own               ownState      `json:"own,omitempty"`
		Status            *customStatus `json:"status,omitempty"`
	}
	customSpec struct {
		Shadow    shadowing            `json:"shadow,omitempty"`
		Limits    *limits              `json:"limits,omitempty"`
		List      []limits             `json:"list,omitempty"`
		ByName    map[string]limits    `json:"byName,omitempty"`
		Message   *message             `json:"message,omitempty"`
		Messages  []*message           `json:"messages,omitempty"`
		Guarded   *guarded             `json:"guarded,omitempty"`
		Quantity  *resource.Quantity   `json:"quantity,omitempty"`
		Partial   *partial             `json:"partial,omitempty"`
		Raw       runtime.RawExtension `json:"raw,omitempty"`
		Either    *intstr.IntOrString  `json:"either,omitempty"`
		Template  *template            `json:"template,omitempty"`
		Templates []template           `json:"templates,omitempty"`
		Text      string               `json:"text,omitempty"`
	}
	customStatus struct {
		Any       any                `json:"any,omitempty"`
		Array     [2]float64         `json:"array,omitempty"`
		Float     float64            `json:"float"`
		FloatPtr  *float64           `json:"floatPtr,omitempty"`
		Floats    []float64          `json:"floats,omitempty"`
		ByName    map[string]float64 `json:"byName,omitempty"`
		Number    json.Number        `json:"number,omitempty"`
		Quoted    *quoted            `json:"quoted,omitempty"`
		Measured  *measured          `json:"measured,omitempty"`
		Bytes     []byte             `json:"bytes,omitempty"`
		Strings   []string           `json:"strings,omitempty"`
		Flag      *bool              `json:"flag,omitempty"`
		Duration  *metav1.Duration   `json:"duration,omitempty"`
		At        *metav1.MicroTime  `json:"at,omitempty"`
		Embedding *embedding         `json:"embedding,omitempty"`
	}
	// scalars are units that need not be objects, arrays or strings.
	scalars struct {
		metav1.TypeMeta `json:",inline"`
		// Two that are embedded leave the type without their Unmarshal.
		metav1.ListMeta `json:"metadata,omitempty"`
		Name            string                `json:"name,omitempty"`
		Quantity        *resource.Quantity    `json:"quantity,omitempty"`
		Quantities      []*resource.Quantity  `json:"quantities,omitempty"`
		Pair            *[2]resource.Quantity `json:"pair,omitempty"`
		Number          *json.Number          `json:"number,omitempty"`
		Ratio           *ratio                `json:"ratio,omitempty"`
		Ratios          []ratio               `json:"ratios,omitempty"`
		Bytes           []byte                `json:"bytes,omitempty"`
		Deep            **float64             `json:"deep,omitempty"`
		Any             *any                  `json:"any,omitempty"`
		ByName          map[string]*ratio     `json:"byName,omitempty"`
	}
	// ratio is a number that decodes itself.
	ratio float64
	// ownState has hidden state in its own memory.
	ownState struct {
		Message message           `json:"message,omitempty"`
		Limits  limits            `json:"limits,omitempty"`
		Beside  map[string]string `json:"beside,omitempty"`
	}
	base struct {
		Name string `json:"name,omitempty"`
		Deep string `json:"deep,omitempty"`
	}
	shadowing struct {
		base
		metav1.LabelSelector
		Name string `json:"name,omitempty"`
	}
	embedding struct {
		*metav1.LabelSelector
		Name string `json:"name,omitempty"`
	}
	template struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
	}
	// partial has a Quantity that one of the decoders drops.
	partial struct {
		Quantity resource.Quantity `json:"quantity,omitempty"`
		Name     string            `json:"name,omitempty"`
		Long     [4]int64          `json:"long"`
	}
	quoted struct {
		N int64   `json:"n,string"`
		F float64 `json:"f,string"`
		G float64 `json:"g"`
	}
	// limits decodes itself, and has Quantities that cache their text.
	limits struct {
		Limit   resource.Quantity  `json:"limit"`
		Request *resource.Quantity `json:"request,omitempty"`
		Name    string             `json:"name,omitempty"`
	}
	// measured decodes itself, and hides nothing.
	measured struct {
		Value  float64   `json:"value"`
		Values []float64 `json:"values,omitempty"`
	}
	// message decodes itself, and has what a protobuf message has: a state that
	// readers write atomically.
	message struct {
		Text  string `json:"text,omitempty"`
		state atomic.Int64
	}
	// guarded is decoded field by field, and has a mutex beside.
	guarded struct {
		Name  string           `json:"name,omitempty"`
		Long  string           `json:"long,omitempty"`
		Extra *metav1.ListMeta `json:"extra,omitempty"`
		mu    sync.Mutex
		reads int
	}
)

func (l *limits) UnmarshalJSON(b []byte) error {
	type plain limits
	return json.Unmarshal(b, (*plain)(l))
}

func (r *ratio) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*float64)(r)) }

func (m *measured) UnmarshalJSON(b []byte) error {
	type plain measured
	return json.Unmarshal(b, (*plain)(m))
}

func (m *message) UnmarshalJSON(b []byte) error {
	var plain struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(b, &plain)
	m.Text = plain.Text
	return err
}

func (m *message) Touch() { m.state.Add(1) }

func (g *guarded) Touch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reads++
}

// measures has a protobuf encoding with floating-point numbers, and a part that
// decodes itself and hides state.
type measures struct {
	metav1.TypeMeta `json:",inline"`
	Name            string     `json:"name" protobuf:"bytes,1,opt,name=name"`
	Value           float64    `json:"value" protobuf:"fixed64,2,opt,name=value"`
	Pointer         *float64   `json:"pointer,omitempty" protobuf:"fixed64,3,opt,name=pointer"`
	State           *message   `json:"state,omitempty" protobuf:"bytes,4,opt,name=state"`
	Inner           *measures  `json:"inner,omitempty" protobuf:"bytes,5,opt,name=inner"`
	List            []measures `json:"list,omitempty" protobuf:"bytes,6,rep,name=list"`
	Foreign         *measured  `json:"foreign,omitempty" protobuf:"bytes,7,opt,name=foreign"`
}

func (m *measures) Marshal() ([]byte, error) {
	var b []byte
	field := func(number byte, raw []byte) {
		b = append(binary.AppendUvarint(append(b, number<<3|2), uint64(len(raw))), raw...)
	}
	fixed := func(number byte, v float64) {
		b = binary.LittleEndian.AppendUint64(append(b, number<<3|1), math.Float64bits(v))
	}
	field(1, []byte(m.Name))
	fixed(2, m.Value)
	if m.Pointer != nil {
		fixed(3, *m.Pointer)
	}
	if m.State != nil {
		field(4, []byte(m.State.Text))
	}
	if m.Inner != nil {
		raw, _ := m.Inner.Marshal()
		field(5, raw)
	}
	for i := range m.List {
		raw, _ := m.List[i].Marshal()
		field(6, raw)
	}
	if m.Foreign != nil {
		raw, _ := m.Foreign.Marshal()
		field(7, raw)
	}
	return b, nil
}

// Marshal and Unmarshal are of a message whose content is its text.
func (m *message) Unmarshal(b []byte) error {
	m.Text = string(b)
	return nil
}

func (m *measured) Marshal() ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(m.Value))
	for _, v := range m.Values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b, nil
}

func (m *measured) Unmarshal(b []byte) error {
	if len(b)%8 != 0 || len(b) == 0 {
		return errors.New("broken")
	}
	for i := 0; len(b) > 0; i++ {
		v := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if b = b[8:]; i == 0 {
			m.Value = v
		} else {
			m.Values = append(m.Values, v)
		}
	}
	return nil
}

// uvarint reads as gogo's code does: bits beyond the 64th are lost.
func uvarint(b []byte) (v uint64, n int) {
	for shift := 0; shift < 64 && n < len(b); shift += 7 {
		v |= uint64(b[n]&0x7f) << shift
		if n++; b[n-1] < 0x80 {
			return v, n
		}
	}
	return 0, -1
}

// protoField reads the field that b begins with: bytes, or a fixed number.
func protoField(b []byte) (number, wire uint64, content []byte, v float64, rest []byte, err error) {
	broken := errors.New("broken")
	tag, n := uvarint(b)
	if n < 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, nil, 0, nil, broken
	}
	number, wire, b = tag>>3, tag&7, b[n:]
	size := uint64(8)
	switch wire {
	case 0:
		if _, n = uvarint(b); n < 0 {
			return 0, 0, nil, 0, nil, broken
		}
		size = uint64(n)
	case 1:
	case 2:
		if size, n = uvarint(b); n < 0 {
			return 0, 0, nil, 0, nil, broken
		}
		b = b[n:]
	case 5:
		size = 4
	default:
		return 0, 0, nil, 0, nil, broken
	}
	if size > uint64(len(b)) {
		return 0, 0, nil, 0, nil, broken
	}
	content = b[:size]
	if wire == 1 {
		v = math.Float64frombits(binary.LittleEndian.Uint64(content))
	}
	return number, wire, content, v, b[size:], nil
}

// Unmarshal is what gogo would generate, in short; the name of its file, which
// tells that, is that of a generated one.
//
//line measures.pb.go:1
func (m *measures) Unmarshal(raw []byte) error {
	for len(raw) > 0 {
		number, wire, b, v, rest, err := protoField(raw)
		if err != nil {
			return err
		}
		raw = rest
		if fixed := number == 2 || number == 3; number <= 7 && (wire != 1 || !fixed) && (wire != 2 || fixed) {
			return errors.New("broken")
		}
		switch number {
		case 1:
			m.Name = string(b)
		case 2:
			m.Value = v
		case 3:
			m.Pointer = &v
		case 4:
			if m.State == nil {
				m.State = &message{}
			}
			err = m.State.Unmarshal(b)
		case 5:
			if m.Inner == nil {
				m.Inner = &measures{}
			}
			err = m.Inner.Unmarshal(b)
		case 6:
			m.List = append(m.List, measures{})
			err = m.List[len(m.List)-1].Unmarshal(b)
		case 7:
			if m.Foreign == nil {
				m.Foreign = &measured{}
			}
			err = m.Foreign.Unmarshal(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
