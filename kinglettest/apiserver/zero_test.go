package apiserver_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// k8s.io/apiserver endpoints/handlers/get.go handleWatch: 0 means the server's own choice,
// 30 to 60 minutes.
func TestAWatchOfZeroSecondsLastsAsLongAsTheServerChooses(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		zero := int64(0)
		i := w.watch(metav1.ListOptions{TimeoutSeconds: &zero})
		time.Sleep(time.Second)
		synctest.Wait()
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
