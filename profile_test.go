package kinglet

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

// goroutines returns the profile of all goroutines.
func goroutines(t *testing.T) string {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	return profile.String()
}

// ownStack returns the part of a goroutine profile for the goroutine that took it.
func ownStack(profile string) string {
	for _, group := range strings.Split(profile, "\n\n") {
		if strings.Contains(group, "kinglet.goroutines+") {
			return group
		}
	}
	return ""
}

func TestEachGoroutineOfAnInformerIsLabelledWithInformerStageAndHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, err := New[*corev1.Pod](sourcetest.NewStatic(testpods.New("a", "1")), Options[*corev1.Pod]{
			Name: "labelled", MutationDetection: MutationDetection{Sample: 1, Interval: time.Hour},
			ConsistencyCheck: ConsistencyCheck{Every: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		handled := make(chan context.Context, 1)
		_, err = inf.AddHandler(HandlerFunc[*corev1.Pod](func(ctx context.Context, _ []store.Change[*corev1.Pod]) {
			handled <- ctx
			<-ctx.Done()
		}), HandlerOptions{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(pprof.WithLabels(t.Context(), pprof.Labels("mine", "yes")))
		ran := make(chan string, 1)
		go func() {
			pprof.SetGoroutineLabels(ctx)
			if err := inf.Run(ctx); err != nil {
				t.Error(err)
			}
			ran <- ownStack(goroutines(t)) // a handler's goroutine may be about to end
		}()
		given := <-handled
		synctest.Wait()
		profile := goroutines(t)
		for _, want := range []string{
			`{"kinglet.informer":"labelled", "kinglet.stage":"reflector", "mine":"yes"}`,
			`{"kinglet.handler":"slow", "kinglet.informer":"labelled", "kinglet.stage":"handler", "mine":"yes"}`,
			`{"kinglet.informer":"labelled", "kinglet.stage":"mutation", "mine":"yes"}`,
			`{"kinglet.informer":"labelled", "kinglet.stage":"consistency", "mine":"yes"}`,
		} {
			if n := strings.Count(profile, "# labels: "+want+"\n"); n != 1 {
				t.Errorf("%d goroutines are labelled %s:\n%s", n, want, profile)
			}
		}
		if name, ok := pprof.Label(given, "kinglet.handler"); !ok || name != "slow" {
			t.Errorf("the context of the handler is labelled %q", name)
		}
		cancel()
		if after := <-ran; strings.Contains(after, `"kinglet.`) || !strings.Contains(after, `# labels: {"mine":"yes"}`) {
			t.Errorf("after Run the goroutine is not labelled as before:\n%s", after)
		}
	})
}
