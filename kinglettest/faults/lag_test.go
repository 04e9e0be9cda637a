package faults_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// probed runs body with an informer that asks its server every ten seconds how far it
// has come.
func probed(t *testing.T, body func(r *rig, inf *kinglet.Informer[object])) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, storage: apiserver.NewStorage(apiserver.ConfigMaps, apiserver.Pods)}
		r.arm(nil)
		r.put("o0", "1")
		r.server = apiserver.New(r.storage, apiserver.Options{Inject: r.note})
		defer r.server.Close()
		src, err := source.FromConfig[object](r.server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inf, err := kinglet.New(source.Map(src, func(o object) (object, error) { return o, nil }),
			kinglet.Options[object]{OnError: func(error) {}, LagProbe: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if l := inf.Status().Lag; !l.Enabled || !l.Measured.IsZero() || l.Err != nil {
			t.Errorf("before Run: %+v", l)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		testclock.Elapse(15 * time.Second)
		body(r, inf)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// recent is whether a lag was measured at a time that is not long ago.
func recent(l time.Time) bool { return time.Since(l) <= 15*time.Second }

func TestTheLagOfAnInformerThatFollowsIsZeroAlsoWhereOthersWrite(t *testing.T) {
	probed(t, func(r *rig, inf *kinglet.Informer[object]) {
		for i := range 12 {
			if i%2 == 0 {
				r.other()
			}
			testclock.Elapse(10 * time.Second)
			if l := inf.Status().Lag; l.Waiting || l.Behind > time.Second || !recent(l.Measured) || l.Err != nil {
				t.Errorf("%d: %+v", i, l)
			}
		}
	})
}

func TestTheLagOfAnInformerWhoseWatchIsHalfOpenGrowsUntilItFollowsAgain(t *testing.T) {
	probed(t, func(r *rig, inf *kinglet.Informer[object]) {
		r.arm(apiserver.Script{{Match: func(q *apiserver.Request) bool {
			return q.Verb == "watch" && *q.Options.TimeoutSeconds > 100
		}, Fault: apiserver.Fault{StallAfter: -1}}})
		r.server.Disconnect()
		testclock.Elapse(5 * time.Second)
		r.put("o0", "2")
		testclock.Elapse(40 * time.Second)
		l := inf.Status().Lag
		if !l.Waiting || l.Behind < 25*time.Second || l.Behind > 45*time.Second {
			t.Errorf("after 40 s: %+v", l)
		}
		testclock.Elapse(10 * time.Second)
		if more := inf.Status().Lag; more.Behind != l.Behind+10*time.Second {
			t.Errorf("10 s later: %+v", more)
		}
		testclock.Elapse(10 * time.Minute) // it is left after two minutes
		if l := inf.Status().Lag; l.Waiting || l.Behind > time.Second || !recent(l.Measured) {
			t.Errorf("once it follows again: %+v", l)
		}
	})
}

func TestALagThatCannotBeMeasuredSaysWhy(t *testing.T) {
	probed(t, func(r *rig, inf *kinglet.Informer[object]) {
		r.arm(apiserver.Script{{Times: 100, Match: func(q *apiserver.Request) bool { return q.Verb == "list" && q.Options.Limit == 1 },
			Fault: apiserver.Fault{Answer: apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", nil)}}})
		testclock.Elapse(time.Minute)
		if l := inf.Status().Lag; l.Waiting || recent(l.Measured) || !apierrors.IsForbidden(l.Err) {
			t.Errorf("%+v", l)
		}
	})
	if _, err := kinglet.New[object](unasked{}, kinglet.Options[object]{LagProbe: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "LagProbe") {
		t.Errorf("an interval of a millisecond: %v", err)
	}
	inf, err := kinglet.New[object](unasked{}, kinglet.Options[object]{LagProbe: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if l := inf.Status().Lag; !l.Enabled || l.Err == nil {
		t.Errorf("a source that cannot be asked: %+v", l)
	}
}

// unasked is a source that knows no server.
type unasked struct{ source.Source[object] }

func (unasked) String() string                { return "nothing" }
func (unasked) Traits() source.Traits[object] { return source.Traits[object]{} }

// other has the server's version go on without a change to the collection.
func (r *rig) other() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p" + r.version()}}
	if _, err := r.storage.Create(pod); err != nil {
		r.t.Fatal(err)
	}
}
