package kinglet_test

import (
	"strings"
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
	names := func() string {
		_, informers := set.Observed()
		_, controllers := set.Controllers()
		return strings.Join(append(informers, controllers...), " ")
	}
	if got := names(); got != "a b a#2 c" {
		t.Errorf("shown are %q", got)
	}
	removeA()
	removeA()
	removeC()
	if got := names(); got != "b a#2" {
		t.Errorf("after removal, shown are %q", got)
	}
	removeA2()
	if got := names(); got != "b" {
		t.Errorf("after removal, shown are %q", got)
	}
}
