package cache_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/cache"
)

// The frames of interfaces and closures are their package's, so that only calls
// of what a constructor returned show what is left of a stack.
func TestAnInformersReflectorIsNamedAfterWhereItWasMadeHoweverItIsRun(t *testing.T) {
	for how, run := range map[string]func(context.Context, cache.SharedIndexInformer){
		"go":          func(ctx context.Context, inf cache.SharedIndexInformer) { go inf.RunWithContext(ctx) },
		"go, channel": func(ctx context.Context, inf cache.SharedIndexInformer) { go inf.Run(ctx.Done()) },
		"a method value": func(ctx context.Context, inf cache.SharedIndexInformer) {
			run := inf.Run
			go run(ctx.Done())
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			inf := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)
			names := make(chan string, 1)
			if err := inf.SetWatchErrorHandler(func(r *cache.Reflector, _ error) { names <- r.Name() }); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			run(ctx, inf)
			if name := <-names; !strings.Contains(name, "callername_test.go:") {
				t.Errorf("run by %s the reflector is called %q", how, name)
			}
			stop()
			synctest.Wait()
		})
	}
}
