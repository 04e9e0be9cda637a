package kinglet_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
)

// mutations returns the *MutationErrors among those reported, as text.
func (r *rig) mutations() []string {
	var lines []string
	for _, err := range r.errors() {
		var m *kinglet.MutationError
		if errors.As(err, &m) {
			lines = append(lines, m.Key.Name+" "+m.Path)
		}
	}
	return lines
}

// transform replaces the informer by one of what fn makes of the source's objects.
func (r *rig) transform(fn func(pod) (pod, error)) {
	r.t.Helper()
	opts := kinglet.Options[pod]{MutationDetection: kinglet.MutationDetection{All: true}, OnError: func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}}
	inf, err := kinglet.New(source.Map[pod](r.src, fn), opts)
	r.must(err)
	r.informer = inf
}

// publish adds an object, which puts the detector's next check after everything so far:
// the race detector has nothing to report.
func (r *rig) publish(name string) {
	r.t.Helper()
	synctest.Wait()
	r.must(r.src.Add(newPod(name, "")))
	synctest.Wait()
}

func TestGuarantee8AWriteThroughOneObjectIsFoundInAllThatShareTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{})
		// Replicas share their environment, as a decoder's do: from the second one on,
		// when it is known that there are others.
		env := []corev1.EnvVar{{Name: "A"}, {Name: "B"}, {Name: "C", Value: "3"}}
		r.transform(func(p pod) (pod, error) {
			p.Spec.Containers = []corev1.Container{{Env: env}}
			if p.Name == "z" {
				p.Spec.Containers = nil
			}
			return p, nil
		})
		r.run()
		for _, name := range []string{"a", "b", "c"} {
			r.publish(name)
		}
		testbubble.Pass(3 * time.Second)
		expect(t, r.mutations())
		r.publish("d")
		r.must(r.src.Delete(key("d")))
		synctest.Wait()
		held, _ := r.informer.Store().Get(key("b"))
		var sharers []string
		for _, name := range []string{"a", "b", "c"} {
			if p, _ := r.informer.Store().Get(key(name)); &p.Spec.Containers[0].Env[0] == &held.Spec.Containers[0].Env[0] {
				sharers = append(sharers, name+" spec.containers[0].env[2].value")
			}
		}
		if len(sharers) < 2 {
			t.Errorf("only %v have the environment", sharers)
		}
		held.Spec.Containers[0].Env[2].Value = "x"
		r.publish("z")
		testbubble.Pass(2 * time.Second)
		r.end()
		// d is gone, and watched for one more interval.
		expect(t, r.mutations(), append(sharers, "d spec.containers[0].env[2].value")...)
	})
}

func TestAWriteInTheLastMomentIsReportedBeforeRunReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{MutationDetection: kinglet.MutationDetection{All: true}}, newPod("a", "n1"))
		r.add(kinglet.HandlerFuncs[pod]{OnAdd: func(ctx context.Context, p pod, _ bool) {
			<-ctx.Done()
			p.Spec.NodeName = "mine"
		}}, kinglet.HandlerOptions{})
		r.run()
		r.end()
		expect(t, r.mutations(), "a spec.nodeName")
	})
}

func TestASampleIsCheckedFromTimeToTimeAndWhenTheInformerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{MutationDetection: kinglet.MutationDetection{Sample: 10, Interval: time.Minute}}, newPod("a", "n1"))
		r.run()
		held, _ := r.informer.Store().Get(key("a"))
		held.Spec.NodeName = "mine"
		r.publish("z")
		expect(t, r.mutations())
		testbubble.Pass(61 * time.Second)
		expect(t, r.mutations(), "a spec.nodeName")
		held.Spec.Hostname = "mine"
		r.publish("y")
		r.end()
		expect(t, r.mutations(), "a spec.nodeName", "a spec.hostname")
	})
}

// What a deleted object or an old version shared lives on in others.
func TestHandlersMayNotWriteToOldVersionsEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The only check is the one at the end, when the handler has returned.
		r := newRig(t, kinglet.Options[pod]{MutationDetection: kinglet.MutationDetection{All: true, Interval: time.Hour}}, newPod("a", "n1"))
		r.add(kinglet.HandlerFuncs[pod]{
			OnUpdate: func(_ context.Context, old, _ pod) { old.Spec.NodeName = "mine" },
			OnDelete: func(_ context.Context, d kinglet.DeletedObject[pod]) { d.Object.Spec.Hostname = "mine" },
		}, kinglet.HandlerOptions{})
		r.run()
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		// Deleted while nobody watched: the handler gets what the store held, not what
		// the server sends with the delete.
		r.src.Disconnect(nil)
		r.src.FailWatches(1, apierrors.NewResourceExpired("too old resource version"))
		r.must(r.src.Delete(key("a")))
		testbubble.Pass(time.Minute)
		r.end()
		expect(t, r.mutations(), "a spec.nodeName", "a spec.hostname")
	})
}

func TestNothingRunsForADetectorThatIsOff(t *testing.T) {
	// By name: other goroutines of the process come and go.
	count := func(m kinglet.MutationDetection) (goroutines int) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{MutationDetection: m}, newPod("a", "n1"))
			r.run()
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			goroutines = bytes.Count(stacks, []byte("mutation.(*Detector[...]).Run("))
			r.end()
		})
		return goroutines
	}
	off, on := count(kinglet.MutationDetection{}), count(kinglet.MutationDetection{All: true})
	if off != 0 || on != 1 {
		t.Errorf("%d goroutines with the detector off, %d with it on", off, on)
	}
}

func TestMutationDetectionNamesEverythingThatIsWrong(t *testing.T) {
	r := numbers{}
	_, err := kinglet.New[int](r, kinglet.Options[int]{
		MutationDetection: kinglet.MutationDetection{All: true, Sample: 1, Interval: -1},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"All", "Sample", "Interval"} {
		if !slices.Contains(strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" .\n,:", r) }), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}
