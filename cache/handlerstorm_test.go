package cache

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

// counter counts what it is told of one key's life.
type counter struct{ adds, updates, deletes atomic.Int64 }

func (c *counter) OnAdd(any, bool)   { c.adds.Add(1) }
func (c *counter) OnUpdate(any, any) { c.updates.Add(1) }
func (c *counter) OnDelete(any)      { c.deletes.Add(1) }

func TestAHundredThousandHandlersComeAndGoAndThoseThatStayMissNothing(t *testing.T) {
	synctest.Test(t, handlerStorm)
}

// delivering counts the goroutines that were started for handlers. The runtime
// and other packages have goroutines of their own, which come and go.
func delivering() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("created by github.com/kinglet-go/kinglet/internal/engine/deliver"))
}

func handlerStorm(t *testing.T) {
	const rounds, crowd, events = 100_000, 4, 2_000
	src := server(t, testPod("a", "n1"))
	inf := NewSharedInformer(src, &corev1.Pod{}, 0)
	before := &counter{}
	r := handle(t, inf, before)
	stop := start(inf.RunWithContext)
	if !WaitFor(t.Context(), "", inf.HasSyncedChecker(), r.HasSyncedChecker()) {
		t.Fatal("not synced")
	}
	after := &counter{}
	handle(t, inf, after)
	synctest.Wait()
	goroutines := delivering()

	var work sync.WaitGroup
	work.Go(func() {
		for i := range events {
			src.Modify(testPod("a", fmt.Sprint("n", i)))
		}
		for i := range events {
			src.Add(testPod(fmt.Sprint("b", i), "n1"))
			src.Delete(testPod(fmt.Sprint("b", i), "n1"))
		}
	})
	for range crowd {
		work.Go(func() {
			for range rounds / crowd {
				r, err := inf.AddEventHandler(&counter{})
				if err == nil {
					err = inf.RemoveEventHandler(r)
				}
				if err == nil {
					<-r.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	last := make(chan struct{})
	handle(t, inf, ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if obj.(*corev1.Pod).Name == "end" {
			close(last)
		}
	}})
	src.Add(testPod("end", "n1"))
	<-last
	// In a bubble that is at rest, a goroutine that is over has gone.
	synctest.Wait()
	if left := delivering(); left != goroutines+1 || goroutines == 0 {
		t.Errorf("%d goroutines, %d before the storm and the last handler", left, goroutines)
	}
	stop()
	for name, c := range map[string]*counter{"before": before, "after": after} {
		adds, updates, deletes := c.adds.Load(), c.updates.Load(), c.deletes.Load()
		// What the end of the informer left in a queue is the last change.
		if adds < events+1 || updates != events || deletes != events {
			t.Errorf("the handler from %s the start was told of %d adds, %d updates, %d deletes", name, adds, updates, deletes)
		}
	}
}
