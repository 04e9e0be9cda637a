package interop

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// following is an informer that runs: wait returns once it has synced.
type following struct {
	wait func()
	len  func() int
	run  func(context.Context)
}

func sharedInformer(informer kc.SharedIndexInformer) following {
	return following{
		wait: func() { <-informer.HasSyncedChecker().Done() },
		len:  func() int { return len(informer.GetStore().ListKeys()) },
		run:  informer.RunWithContext,
	}
}

// polled is f for a program that asks again and again whether it has synced.
func polled(informer kc.SharedIndexInformer) following {
	f := sharedInformer(informer)
	f.wait = func() {
		for !informer.HasSynced() {
			time.Sleep(20 * time.Microsecond)
		}
	}
	return f
}

// A watch of a fake clientset never sends what was deleted before it was open. In real
// time, since it is a race.
func TestNoDeleteIsLostAsSoonAsAnInformerOfAFakeHasSynced(t *testing.T) {
	const rounds = 200
	for _, c := range []struct {
		name string
		make func(lw kc.ListerWatcher) following
		// loses: client-go does, at times.
		loses bool
	}{
		{"cache, waiting", func(lw kc.ListerWatcher) following {
			return sharedInformer(cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
		}, false},
		{"cache, polling", func(lw kc.ListerWatcher) following {
			return polled(cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
		}, false},
		{"kinglet", func(lw kc.ListerWatcher) following {
			inf := must(kinglet.New(must(source.FromListerWatcher[*corev1.Pod](lw, source.Options{})), kinglet.Options[*corev1.Pod]{}))
			return following{
				wait: func() { must(0, inf.WaitSynced(context.Background())) },
				len:  func() int { return inf.Snapshot().Len() },
				run:  func(ctx context.Context) { must(0, inf.Run(ctx)) },
			}
		}, false},
		{"client-go, waiting", func(lw kc.ListerWatcher) following {
			return sharedInformer(kc.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
		}, true},
		{"client-go, polling", func(lw kc.ListerWatcher) following {
			return polled(kc.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
		}, true},
	} {
		lost := 0
		for range rounds {
			if !deletedOnceSynced(c.make) {
				lost++
			}
		}
		t.Logf("%s: %d of %d deletes are lost", c.name, lost, rounds)
		if lost > 0 && !c.loses {
			t.Errorf("%s: %d of %d deletes are lost", c.name, lost, rounds)
		}
	}
}

// deletedOnceSynced deletes a pod as soon as an informer has synced, and returns whether
// the informer learns of it.
func deletedOnceSynced(informer func(kc.ListerWatcher) following) (learns bool) {
	client := fake.NewClientset(fakePod("a"))
	pods := client.CoreV1().Pods("ns")
	f := informer(cache.ToListWatcherWithWatchListSemantics(closuresFor(pods.List, pods.Watch), client))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); f.run(ctx) }()
	defer func() {
		stop()
		<-ended
	}()
	f.wait()
	must(0, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
	for began := time.Now(); f.len() > 0; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > 2*time.Second {
			return false
		}
	}
	return true
}
