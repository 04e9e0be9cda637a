package source

import (
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestASampleIsDecodedAsAListIs: its decoder has every field of the list's,
// those that are yet to come included, and shares only the buffers with nobody.
func TestASampleIsDecodedAsAListIs(t *testing.T) {
	d := must(newDecoder[*corev1.Pod](podGVR.GroupVersion(), &Options{MaxObjectBytes: 1234, Drop: []string{DropManagedFields}}))
	if d.another().decoding != d.decoding {
		t.Error("a sample is decoded in another way")
	}
	was := reflect.ValueOf(d.decoding)
	for i := range was.NumField() {
		if was.Field(i).IsZero() {
			t.Errorf("%s is zero, so this test does not see it", was.Type().Field(i).Name)
		}
	}
}

// TestASampleMayBeTakenWhileTheWatchIsBusy fails under the race detector only.
func TestASampleMayBeTakenWhileTheWatchIsBusy(t *testing.T) {
	d := must(newDecoder[*corev1.Pod](podGVR.GroupVersion(), &Options{}))
	var busy sync.WaitGroup
	busy.Go(func() {
		for range 1000 {
			d.giveScratch(d.takeScratch())
		}
	})
	for range 1000 {
		d.another().takeScratch()
	}
	busy.Wait()
}
