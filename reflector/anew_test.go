package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestRunAnewBeginsWithAListWhereverTheLastRunWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(lists("5"), silence, lists("6"), silence, lists("7"), silence)
		s.noStream = true
		r, err := New[*thing](s, newRecorder(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`0s list "0" limit=500 continue=""`, `0s list "5" or newer limit=0 continue=""`, `0s list "6" or newer limit=0 continue=""`} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.RunAnew(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Errorf("RunAnew returned %v", err)
			}
			expect(t, "asked", s.heard(), want, `0s watch "`+r.Status().ResourceVersion+`"`)
		}
		if st := r.Status(); st.Degraded || st.ResourceVersion != "7" {
			t.Errorf("%+v", st)
		}
	})
}

func TestADelaySaysHowLongToWaitButNotLessThanTheServerDoes(t *testing.T) {
	delays := []time.Duration{3 * time.Second, 20 * time.Second, time.Second, -time.Second}
	next := func() time.Duration {
		d := delays[0]
		delays = delays[1:]
		return d
	}
	slow := apierrors.NewTooManyRequests("slow down", 7)
	play(t, Options{DisableWatchList: true, Delay: next, Rand: highest}, []answer{
		fails(errReset), fails(slow), fails(slow), fails(errReset), lists("5"),
	}, func(t *testing.T, p *playing) {
		p.pass(time.Minute)
		list := ` list "0" limit=500 continue=""`
		expect(t, "asked", p.script.heard(), "0s"+list, "3s"+list, "23s"+list, "30s"+list, "30s"+list, `30s watch "5"`)
	})
	// The reflector's own waits, which double, would be longer than 7 s by now.
	next = func() time.Duration { return time.Second }
	play(t, Options{DisableWatchList: true, Delay: next, BackoffMin: time.Minute, BackoffMax: time.Hour}, []answer{
		fails(slow), fails(slow), fails(errReset), lists("5"),
	}, func(t *testing.T, p *playing) {
		p.pass(time.Minute)
		list := ` list "0" limit=500 continue=""`
		expect(t, "asked", p.script.heard(), "0s"+list, "7s"+list, "14s"+list, "15s"+list, `15s watch "5"`)
	})
}
