package json

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

type nested struct {
	Next *nested           `json:"next,omitempty"`
	List []nested          `json:"list,omitempty"`
	Map  map[string]nested `json:"map,omitempty"`
	Any  any               `json:"any,omitempty"`
}

func TestNestingEndsWhereItEndsForTheOfficialDecoder(t *testing.T) {
	p, err := Compile(reflect.TypeFor[nested](), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := share.NewSession(share.NewTable(0))
	for _, shape := range [][2]string{{`{"next":`, "}"}, {`{"list":[`, "]}"}, {`{"map":{"a":`, "}}"}, {`{"any":`, "}"}, {`{"unknown":[`, "]}"}} {
		each := strings.Count(shape[1], "}") + strings.Count(shape[1], "]")
		for _, depth := range []int{1, maxDepth/each - 1, maxDepth / each, maxDepth/each + 1, 1000, 10_000/each - 1, 10_000/each + 1} {
			raw := []byte(strings.Repeat(shape[0], depth) + "{}" + strings.Repeat(shape[1], depth))
			r, ok := p.mustAgree(t, s, raw, share.Version{})
			if ok {
				p.mustAgree(t, s, raw, r.Version())
			}
			p.mustAgree(t, share.NewSession(nil), raw, share.Version{})
			p.mustAgree(t, s, raw[:len(raw)-1], share.Version{})
		}
	}
	for _, deep := range []string{strings.Repeat("[", 1e6), strings.Repeat(`{"next":`, 1e5)} {
		if _, n, err := p.Decode(s, []byte(`{"any":`+deep), share.Version{}); n != 0 || err == nil {
			t.Errorf("%d, %v", n, err)
		}
	}
}

func TestManyElementsTakeTheMemoryOfTheElements(t *testing.T) {
	p := podPlan(t)
	s := share.NewSession(share.NewTable(0))
	for _, raw := range [][]byte{
		[]byte(`{"spec":{"containers":[` + strings.Repeat("{},", 2_000) + `{}]}}`),
		[]byte(`{"spec":{"tolerations":[` + strings.Repeat(`{"key":"of more than have numbers"},`, share.MaxField+2) + `{}]}}`),
		[]byte(`{"metadata":{"finalizers":[` + strings.Repeat(`"a",`, 100_000) + `"b"]}}`),
		manyLabels(20_000),
	} {
		first := p.mustEqual(t, s, raw, share.Version{})
		// One more, behind the others, while all are remembered.
		changed := bytes.Replace(raw, []byte("]}}"), []byte("],\"x\":1}}"), 1)
		second := p.mustEqual(t, s, changed, first.Version())
		p.mustEqual(t, s, raw, second.Version())
	}
}

func manyLabels(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"metadata":{"labels":{`)
	for i := range n {
		fmt.Fprintf(&b, `"label-%d":"value",`, i)
	}
	b.WriteString(`"last":""}}}`)
	return b.Bytes()
}
