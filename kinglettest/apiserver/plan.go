package apiserver

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Plan chooses faults at random from a seed. The fault of a request depends on the seed and
// the request's number alone, so a plan can be repeated, and shrunk by leaving requests
// out.
type Plan struct {
	Seed uint64
	// Rate is how many of 1,000 requests have a fault; 300 if 0.
	Rate int
	// Until is the number of the last request that may have one; 0 for no end.
	Until int
	// Only, if not nil, has the numbers of the requests that may have one.
	Only map[int]bool
	// Objects, if not nil, chooses the objects that may be damaged.
	Objects func(types.NamespacedName) bool
}

// fault is one of those that a Plan chooses from.
type fault struct {
	name string
	// verbs are the first letters of list, continue, watch and watch-list that
	// it makes sense for: l, c, w, W.
	verbs string
	make  func(rnd *rand.Rand, p *Plan) Fault
}

// faults returns all faults that a Plan chooses from, each of which happens in real life.
func faults() []fault {
	answer := func(err error) func(*rand.Rand, *Plan) Fault {
		return func(*rand.Rand, *Plan) Fault { return Fault{Answer: err} }
	}
	gr := schema.GroupResource{}
	busy := apierrors.NewTooManyRequestsError("slow down")
	busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return []fault{
		{"expired", "lcwW", answer(apierrors.NewResourceExpired("the provided version is too old"))},
		{"gone", "lcwW", answer(gone())},
		{"too large", "lwW", answer(tooLarge(1<<40, 1))},
		{"too many requests", "lcwW", answer(busy)},
		{"internal error", "lcwW", answer(apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed")))},
		{"unavailable", "lcwW", answer(apierrors.NewServiceUnavailable("the server is currently unable to handle the request"))},
		{"bad gateway", "lcwW", answer(apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", gr, "", "", 0, true))},
		{"unauthorized", "lcwW", answer(apierrors.NewUnauthorized("the token has expired"))},
		{"forbidden", "lcwW", answer(apierrors.NewForbidden(gr, "", fmt.Errorf("RBAC: not now")))},
		{"not found", "lwW", answer(unknownPath())},
		{"refused", "lcwW", func(*rand.Rand, *Plan) Fault { return Fault{Refuse: true} }},
		{"cut", "lcwW", func(rnd *rand.Rand, _ *Plan) Fault { return Fault{CutAfter: 1 + rnd.Int64N(3000)} }},
		{"half open", "lcwW", func(rnd *rand.Rand, _ *Plan) Fault { return Fault{StallAfter: 1 + rnd.Int64N(3000)} }},
		{"late", "lcwW", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{Delay: time.Duration(rnd.Int64N(int64(5 * time.Second)))}
		}},
		{"trickle", "lcwW", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{Trickle: 1 + rnd.IntN(200), TrickleEvery: time.Duration(1 + rnd.Int64N(int64(20*time.Millisecond)))}
		}},
		{"ends at once", "wW", func(*rand.Rand, *Plan) Fault { return Fault{EndAfter: -1} }},
		{"ends early", "wW", func(rnd *rand.Rand, _ *Plan) Fault { return Fault{EndAfter: 1 + rnd.IntN(8)} }},
		{"ends with expired", "wW", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{EndAfter: 1 + rnd.IntN(8), End: apierrors.NewResourceExpired("too old resource version: 1 (100)")}
		}},
		{"ends with an error", "wW", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{EndAfter: 1 + rnd.IntN(8), End: apierrors.NewInternalError(fmt.Errorf("etcdserver: no leader"))}
		}},
		{"no bookmarks", "wW", func(rnd *rand.Rand, _ *Plan) Fault { return Fault{NoBookmarks: true, EndAfter: 1 + rnd.IntN(20)} }},
		{"duplicates", "wW", func(*rand.Rand, *Plan) Fault { return Fault{Duplicate: true} }},
		{"catches up", "W", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{CatchUp: 1 + rnd.Int64N(20), Duplicate: rnd.IntN(2) == 0}
		}},
		{"strangers", "wW", func(*rand.Rand, *Plan) Fault { return Fault{Stranger: stranger} }},
		{"behind", "lwW", func(rnd *rand.Rand, _ *Plan) Fault {
			return Fault{Behind: 1 + rnd.Int64N(6), EndAfter: 1 + rnd.IntN(10)}
		}},
		{"damage", "lcwW", func(rnd *rand.Rand, p *Plan) Fault {
			salt := rnd.Uint32()
			return Fault{EndAfter: 1 + rnd.IntN(20), Damage: func(k types.NamespacedName) bool {
				return (p.Objects == nil || p.Objects(k)) && (uint32(len(k.Name))+uint32(k.Name[len(k.Name)-1])+salt)%3 == 0
			}}
		}},
	}
}

// stranger is a secret with the name of an object.
func stranger(obj runtime.Object) runtime.Object {
	s := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	m := metaOf(obj)
	s.Namespace, s.Name, s.ResourceVersion = m.GetNamespace(), m.GetName(), m.GetResourceVersion()
	s.UID = "stranger-" + m.GetUID()
	return s
}

// gone is the older way to say expired.
func gone() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone",
	}}
}

// Of returns the fault of a request, and its name, which is empty if there is none.
func (p *Plan) Of(r *Request) (name string, f Fault) {
	if p.Until > 0 && r.Number > p.Until || p.Only != nil && !p.Only[r.Number] {
		return "", Fault{}
	}
	rate := p.Rate
	if rate == 0 {
		rate = 300
	}
	rnd := rand.New(rand.NewPCG(p.Seed, uint64(r.Number)))
	if rnd.IntN(1000) >= rate {
		return "", Fault{}
	}
	letter := map[string]string{"list": "l", "watch": "w"}[r.Verb]
	switch {
	case letter == "":
		return "", Fault{}
	case r.WatchList():
		letter = "W"
	case r.Options.Continue != "":
		letter = "c"
	}
	var fit []fault
	for _, f := range faults() {
		for _, l := range f.verbs {
			if string(l) == letter {
				fit = append(fit, f)
			}
		}
	}
	chosen := fit[rnd.IntN(len(fit))]
	return chosen.name, chosen.make(rnd, p)
}

// Inject returns a function that plays the plan, and that calls played with each fault,
// unless that is nil. It is called for one request at a time.
func (p *Plan) Inject(played func(r *Request, name string)) Inject {
	return func(r *Request) *Fault {
		name, f := p.Of(r)
		if name == "" {
			return nil
		}
		if played != nil {
			played(r, name)
		}
		return &f
	}
}
