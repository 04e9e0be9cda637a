package torture_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// restore takes the storage back to a backup while there are own writes that the
// watch has not shown, and waits until the informer has followed.
func (w *ownWorld) restore(ctx context.Context) {
	backup := w.storage.Revision()
	w.storage.Skip(ownLeap)
	rnd := rand.New(rand.NewPCG(w.seed, 300))
	for range 30 {
		w.write(rnd)
	}
	w.late.Wait()
	// The informer has to come to what will be lost, to notice it.
	testbubble.Pass(2 * ownLag)
	var last []*ownWrite
	for range 5 {
		if ch := w.truth.write(w.storage, "last", func() (runtime.Object, bool) {
			name := fmt.Sprintf("last-%d", rnd.Uint64())
			obj, err := w.storage.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace(name), Name: name, Labels: map[string]string{"in": "yes"}}})
			if err != nil {
				return nil, false
			}
			return obj, false
		}); ch != nil {
			ch.name = ch.obj.Name
			last = append(last, ch)
		}
	}
	waited := make(chan error, 1)
	go func() { waited <- w.inf.WaitVersion(ctx, strconv.FormatInt(w.storage.Revision()+1000, 10)) }()
	synctest.Wait()
	before := w.inf.Status().OwnWrites.Expired
	w.truth.restored(backup)
	if err := w.storage.Restore(backup); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.revs = nil
	w.server.Release()
	w.server.Hold()
	w.mu.Unlock()
	w.server.Disconnect()
	// The informer learns of it within 2 minutes and 15 seconds, as package
	// reflector has it. Until then it takes answers of before for news.
	testbubble.Pass(time.Minute)
	for _, ch := range last {
		w.tell(ch)
	}
	var err error
	select {
	case err = <-waited:
	case <-time.After(4 * time.Minute):
		st := w.inf.Status()
		err = fmt.Errorf("not at all: %v at %s since %v, %v; the storage is at %d, of a backup of %d", st.Phase, st.ResourceVersion, st.Since, st.LastError, w.storage.Revision(), backup)
	}
	if !errors.Is(err, kinglet.ErrEpoch) {
		w.truth.violated("a wait for a version of before the restoration ended with %v", err)
	}
	if w.scoped {
		// Each scope learns of it in its own time.
		testbubble.Pass(3 * time.Minute)
	}
	synctest.Wait()
	after := w.inf.Status().OwnWrites
	if w.expired = after.Expired - before; after.Entries > 0 {
		w.truth.violated("after the restoration there are entries still: %+v", after)
	}
	w.truth.begin()
}

// settled checks what there is to check at the end.
func (w *ownWorld) settled() {
	s := w.inf.Status().OwnWrites
	if s.Entries > 0 || !s.Oldest.IsZero() {
		w.truth.violated("two minutes after the last write: %+v", s)
	}
	if s.Confirmed == 0 || s.Late == 0 || w.echoes == 0 {
		w.truth.violated("the trial has shown nothing: %+v, %d echoes", s, w.echoes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var dropped, expired uint64
	for _, err := range w.errs {
		switch unconfirmed, ok := errors.AsType[*kinglet.UnconfirmedWriteError](err); {
		case !ok: // the faults
		case errors.Is(err, kinglet.ErrEpoch):
			dropped++
		default:
			if expired++; expired > w.expired {
				w.truth.violated("reported: %v", unconfirmed)
			}
		}
	}
	if dropped == 0 || dropped != s.Dropped || expired != s.Expired {
		w.truth.violated("%+v; reported: %d dropped, %d expired", s, dropped, expired)
	}
	if !w.storageEquals() {
		w.truth.violated("in the end reads are not what the server has")
	}
}

// storageEquals says that reads are what the server has.
func (w *ownWorld) storageEquals() bool {
	objs, _ := w.storage.List(apiserver.ConfigMaps.GroupResource())
	n := 0
	for _, o := range objs {
		o := o.(configMap)
		if w.selects && o.Labels["in"] != "yes" {
			continue
		}
		n++
		got, ok := w.inf.Store().Get(kinglet.Key{Namespace: o.Namespace, Name: o.Name})
		if !ok || got.ResourceVersion != o.ResourceVersion {
			return false
		}
	}
	return w.inf.Store().Len() == n
}
