package own_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

type object struct{ name, version string }

var errStopped = errors.New("stopped")

type rig struct {
	*own.Writes[*object]
	store    *store.Store[*object]
	reported []error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{}
	var err error
	r.store, err = store.New(store.Options[*object]{RememberKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Writes = own.New(own.Options[*object]{
		Store: r.store,
		Rules: own.Rules[*object]{
			UID:      func(*object) types.UID { return "u" },
			Version:  func(o *object) string { return o.version },
			Deleting: func(*object) bool { return false },
		},
		Stopped:     errStopped,
		Unconfirmed: func(u own.Unconfirmed, why error) error { return fmt.Errorf("%s: %w", u.Key.Name, why) },
		Report:      func(err error) { r.reported = append(r.reported, err) },
	})
	r.Enter(store.Scope{}, func() bool { return true })
	return r
}

// list has the store come to a version by a list.
func (r *rig) list(t *testing.T, version string, epoch bool) {
	t.Helper()
	if err := r.store.ReplaceSeq(store.Batch[*object]{ResourceVersion: version}, func(func(store.Op[*object]) bool) {}, nil); err != nil {
		t.Fatal(err)
	}
	r.reported = append(r.reported, r.Replaced("", version, nil, epoch)...)
}

func (r *rig) wrote(name, version string) error {
	if err := r.Noticed(time.Now()); err != nil {
		return err
	}
	return r.Wrote(own.Write[*object]{
		Key: store.Key{Name: name}, UID: "u", Version: version, Object: &object{name, version}, Time: time.Now(),
	}, source.Covered)
}

func (r *rig) shows(name string) bool {
	_, ok := r.Get(store.Key{Name: name})
	_, inSnapshot := r.View().Get(store.Key{Name: name})
	return ok && inSnapshot
}

func TestAWaitForAVersionEndsAtItOrWithTheReasonWhyNot(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		then    func(t *testing.T, r *rig, stop context.CancelFunc)
		want    error
	}{
		"the version":         {"5", func(t *testing.T, r *rig, _ context.CancelFunc) { r.Reached("", "5", nil) }, nil},
		"a later version":     {"5", func(t *testing.T, r *rig, _ context.CancelFunc) { r.list(t, "7", false) }, nil},
		"a new epoch":         {"5", func(t *testing.T, r *rig, _ context.CancelFunc) { r.list(t, "2", true) }, own.ErrEpoch},
		"the end":             {"5", func(t *testing.T, r *rig, _ context.CancelFunc) { r.End() }, errStopped},
		"its context":         {"5", func(t *testing.T, r *rig, stop context.CancelFunc) { stop() }, context.Canceled},
		"a version unordered": {"x", func(*testing.T, *rig, context.CancelFunc) {}, own.ErrNotComparable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.Begin()
				r.list(t, "3", false)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- r.WaitScope(ctx, "", c.version) }()
				synctest.Wait()
				c.then(t, r, stop)
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("ended with %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestAWriteEndsWhenItIsConfirmedTooOldOrOfAnotherEpoch(t *testing.T) {
	for name, c := range map[string]struct {
		then     func(t *testing.T, r *rig)
		reported error
		counted  func(own.Status) uint64
	}{
		"confirmed": {func(t *testing.T, r *rig) { r.list(t, "5", false) }, nil, func(s own.Status) uint64 { return s.Confirmed }},
		"too old":   {func(*testing.T, *rig) { testbubble.Pass(2*time.Minute + time.Second) }, own.ErrNotConfirmed, func(s own.Status) uint64 { return s.Expired }},
		"epoch":     {func(t *testing.T, r *rig) { r.list(t, "2", true) }, own.ErrEpoch, func(s own.Status) uint64 { return s.Dropped }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				if err := r.wrote("a", "5"); !errors.Is(err, own.ErrNotRunning) {
					t.Errorf("before Begin: %v", err)
				}
				r.Begin()
				r.list(t, "3", false)
				if err := r.wrote("a", "5"); err != nil || !r.shows("a") || r.Status().Entries != 1 {
					t.Fatalf("%v, shown %v, %+v", err, r.shows("a"), r.Status())
				}
				c.then(t, r)
				synctest.Wait()
				if s := r.Status(); r.shows("a") || s.Entries != 0 || c.counted(s) != 1 {
					t.Errorf("shown %v, %+v", r.shows("a"), s)
				}
				if c.reported == nil && len(r.reported) > 0 || c.reported != nil && (len(r.reported) != 1 || !errors.Is(r.reported[0], c.reported)) {
					t.Errorf("reported %v, want %v", r.reported, c.reported)
				}
				r.End()
				if err := r.wrote("a", "9"); !errors.Is(err, errStopped) {
					t.Errorf("after End: %v", err)
				}
			})
		})
	}
}
