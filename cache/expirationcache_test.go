package cache

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func TestWhatIsNotWrittenForItsTimeExpiresWhenItIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTTLStore(MetaNamespaceKeyFunc, time.Minute)
		add(t, s, configMap("a", "1", 1), configMap("a", "2", 2), configMap("a", "3", 3))
		testbubble.Elapse(time.Minute)
		if len(s.List()) != 3 {
			t.Fatal("something has expired at its time, not after it")
		}
		if err := s.Update(configMap("a", "2", 4)); err != nil {
			t.Fatal(err)
		}
		testbubble.Elapse(time.Second)
		if _, ok, _ := s.GetByKey("a/1"); ok {
			t.Error("GetByKey finds what has expired")
		}
		if keys := s.ListKeys(); !slices.Equal(keys, []string{"a/2", "a/3"}) {
			t.Errorf("keys are %q: one was asked for and has expired, one has expired", keys)
		}
		if _, ok, _ := s.Get(configMap("a", "3", 0)); ok {
			t.Error("Get finds what has expired")
		}
		if objs := s.List(); len(objs) != 1 || len(s.ListKeys()) != 1 {
			t.Errorf("%d objects", len(objs))
		}
		if err := s.Replace([]any{configMap("b", "1", 5), configMap("b", "2", 5)}, "7"); err != nil {
			t.Fatal(err)
		}
		testbubble.Elapse(59 * time.Second)
		if err := s.Delete(configMap("b", "2", 8)); err != nil {
			t.Fatal(err)
		}
		if keys := s.ListKeys(); !slices.Equal(keys, []string{"b/1"}) || s.LastStoreSyncResourceVersion() != "8" {
			t.Errorf("keys are %q at %s", keys, s.LastStoreSyncResourceVersion())
		}
		s.Bookmark("9")
		if err := s.Resync(); err != nil || s.LastStoreSyncResourceVersion() != "9" {
			t.Errorf("at %s: %v", s.LastStoreSyncResourceVersion(), err)
		}
		testbubble.Elapse(2 * time.Second)
		if len(s.List()) != 0 {
			t.Error("what a Replace brought does not expire")
		}
	})
}

func TestTheKeysThatExpireAreTold(t *testing.T) {
	deleted := make(chan string, 9)
	policy := &FakeExpirationPolicy{
		NeverExpire:     sets.New("a/2"),
		RetrieveKeyFunc: func(obj any) (string, error) { return MetaNamespaceKeyFunc(obj.(*TimestampedEntry).Obj) },
	}
	s := NewFakeExpirationStore(MetaNamespaceKeyFunc, deleted, policy, clock.RealClock{})
	add(t, s, configMap("a", "1", 1), configMap("a", "2", 2), configMap("a", "3", 3))
	if objs := s.List(); len(objs) != 1 {
		t.Errorf("%d objects", len(objs))
	}
	close(deleted)
	var keys []string
	for key := range deleted {
		keys = append(keys, key)
	}
	if !slices.Equal(keys, []string{"a/1", "a/3"}) {
		t.Errorf("told are %q", keys)
	}
}

// rewriting stores a new object under the key while it is asked whether the
// old one has expired.
type rewriting struct{ s Store }

func (p *rewriting) IsExpired(e *TimestampedEntry) bool {
	if e.Obj.(interface{ GetResourceVersion() string }).GetResourceVersion() != "1" {
		return false
	}
	_ = p.s.Add(configMap("a", "1", 2))
	return true
}

func TestAnObjectThatComesWhileTheOldOneExpiresStays(t *testing.T) {
	p := &rewriting{}
	p.s = NewExpirationStore(MetaNamespaceKeyFunc, p)
	add(t, p.s, configMap("a", "1", 1))
	if _, ok, _ := p.s.GetByKey("a/1"); ok {
		t.Error("the old object is found")
	}
	if _, ok, _ := p.s.GetByKey("a/1"); !ok {
		t.Error("the new object was removed in place of the old one")
	}
}

func TestAnUndeltaStoreTellsItsContentsAfterEachWriteThatSucceeded(t *testing.T) {
	var told []int
	s := NewUndeltaStore(func(objs []any) { told = append(told, len(objs)) }, MetaNamespaceKeyFunc)
	add(t, s, configMap("a", "1", 1), configMap("a", "2", 2))
	if s.Delete(configMap("a", "1", 4)) != nil || s.Add("x") == nil || !slices.Equal(told, []int{1, 2, 1}) {
		t.Errorf("told of %d objects", told)
	}
}
