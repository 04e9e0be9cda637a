package kinglet_test

import (
	"testing"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

type named string

func (n named) Status() kinglet.Status { return kinglet.Status{Name: string(n)} }

type namedController string

func (n namedController) Status() status.Controller           { return status.Controller{Name: string(n)} }
func (namedController) Inspect() (d status.ControllerDetails) { return d }

func TestASetShowsWhatItObservesUntilItIsRemoved(t *testing.T) {
	set := kinglet.NewSet()
	removeA := set.Observe(named("a"))
	set.Observe(named("b"))
	removeA2 := set.Observe(named("a"))
	removeC := set.ObserveController(namedController("c"))
	names := func() (s string) {
		for _, st := range set.Status() {
			s += st.Name
		}
		for _, c := range set.Controllers() {
			s += c.Status().Name
		}
		return s
	}
	if got := names(); got != "abac" {
		t.Errorf("shown are %q", got)
	}
	removeA()
	removeA()
	removeC()
	if got := names(); got != "ba" {
		t.Errorf("after removal, shown are %q", got)
	}
	removeA2()
	if got := names(); got != "b" {
		t.Errorf("after removal, shown are %q", got)
	}
}
