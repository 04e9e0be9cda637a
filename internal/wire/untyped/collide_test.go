package untyped

import (
	"fmt"
	"testing"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Of 2,000 names some have one number: 30 pairs on average.
func TestRecordsInsideOfAMemberAreNotThoseOfAnotherWithItsNumber(t *testing.T) {
	plan := compile(t)
	table := share.NewTable(1 << 20)
	names := map[int]string{}
	pairs := 0
	for i := range 2000 {
		b := fmt.Sprintf("n%d", i)
		number := int(table.Sum([]byte(`"`+b+`"`)).B & share.MaxField)
		a, ok := names[number]
		names[number] = b
		if !ok {
			continue
		}
		pairs++
		for _, form := range []string{`[{"v":[%d]},[%d]]`, `{"p":{"v":[%d]},"q":{"w":%d}}`} {
			h := &history{plan: plan, session: share.NewSession(table)}
			x, y, z := fmt.Sprintf(form, 3*i, 3*i), fmt.Sprintf(form, 3*i+1, 3*i+1), fmt.Sprintf(form, 3*i+2, 3*i+2)
			h.next(t, []byte(fmt.Sprintf(`{%q:%s,%q:%s}`, a, z, b, z)))
			// A version that has changed everywhere notes what is inside.
			h.next(t, []byte(fmt.Sprintf(`{%q:%s,%q:%s}`, a, x, b, y)))
			h.next(t, []byte(fmt.Sprintf(`{"c":[0],%q:%s,%q:%s}`, a, x, b, y)))
			h.next(t, []byte(fmt.Sprintf(`{"c":[1],%q:%s}`, b, x)))
		}
	}
	if pairs == 0 {
		t.Fatal("no two names have one number")
	}
}
