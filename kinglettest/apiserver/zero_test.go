package apiserver_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// k8s.io/apiserver endpoints/handlers/get.go handleWatch: 0 means the server's own choice,
// 30 to 60 minutes.
func TestAWatchOfZeroSecondsLastsAsLongAsTheServerChooses(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		zero := int64(0)
		i := w.watch(metav1.ListOptions{TimeoutSeconds: &zero})
		testbubble.Elapse(time.Second)
		if got := w.seen(i); got != "" {
			w.Errorf("the watch has sent %q", got)
		}
	})
}

// registry/store.go Update: version 0 is an unconditional update.
func TestAnUpdateOfVersionZeroIsUnconditional(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		cm := w.create("a", nil).DeepCopy()
		for _, zero := range []string{"0", "00"} {
			cm.ResourceVersion = zero
			cm.Data = map[string]string{"v": zero}
			if _, err := w.client.CoreV1().ConfigMaps("default").Update(w.Context(), cm, metav1.UpdateOptions{}); err != nil {
				w.Error(err)
			}
		}
	})
}

func TestAWatchOfLessThanNoTimeEnds(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		before := int64(-1)
		w.sees(w.watch(metav1.ListOptions{TimeoutSeconds: &before}), "end")
	})
}

// An event has one object, so a watch that accepts only lists of metadata ends at its first event,
// which it does not send: handlers/watch.go in k8s.io/apiserver.
func TestAWatchOfListsOfMetadataEndsWithTheFirstEvent(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		w.create("a", nil)
		got, err := w.client.CoreV1().RESTClient().Get().Resource("configmaps").Param("watch", "true").
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").DoRaw(w.Context())
		if err != nil || len(got) > 0 {
			w.Errorf("%s, %v", got, err)
		}
	})
}
