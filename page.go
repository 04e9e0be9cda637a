package kinglet

import (
	"net/http"

	"github.com/kinglet-go/kinglet/internal/page"
)

// Handler returns a web page that shows every informer of the set, and every informer
// and controller that it observes, the worst first: what is wrong, since when, and what
// to do; then, unfolded, what each does and holds. With ?format=json it is a document
// for programs.
//
// The page works under any path, needs no script, and reloads itself every two seconds.
// Handler may be called before Run, any number of times. The page answers GET and HEAD
// alone, changes nothing, and checks no permissions: serve it where only those who may
// see names of objects and errors can reach it.
//
// Writers never wait for the page. Until it is first requested it costs nothing; from
// then until ten minutes after the last request, every status is read once in 5 s, for
// charts.
func (s *Set) Handler() http.Handler {
	return page.New(page.Options{Informers: s.pageInformers, Controllers: s.pageControllers})
}

// shower is an Informer of any type.
type shower interface{ shownObjects() page.Objects }

func (s *Set) pageInformers() []page.Informer {
	show := s.options().ShowObjects
	observed := s.Observed()
	out := make([]page.Informer, len(observed))
	for k, o := range observed {
		out[k].Status = o.Status
		if i, ok := o.(Inspectable); ok {
			out[k].Inspect = i.Inspect
		}
		if i, ok := o.(shower); ok && show {
			out[k].Objects = i.shownObjects()
		}
	}
	return out
}

func (s *Set) pageControllers() []page.Controller {
	controllers := s.Controllers()
	out := make([]page.Controller, len(controllers))
	for k, c := range controllers {
		out[k] = page.Controller{Report: c.Report, Details: c.ReportDetails}
	}
	return out
}
