package reflector

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

func TestTheZeroOptionsAreReadyToUse(t *testing.T) {
	r, err := New[*thing](newScript(), newRecorder(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := r.options
	if o.Name != "things" || o.BackoffMin != 800*time.Millisecond || o.BackoffMax != 30*time.Second ||
		o.WatchTimeoutMin != 5*time.Minute || o.WatchTimeoutMax != 10*time.Minute || o.InitialEventsProgress != 10*time.Second {
		t.Errorf("%+v", o)
	}
	if c := o.config(); c.PageSize != 500 || c.AlwaysPage || !c.WatchList {
		t.Errorf("%+v", c)
	}
	o.PageSize = DefaultPageSize
	if c := o.config(); c.PageSize != 500 || !c.AlwaysPage {
		t.Errorf("a page size that is given is not that of every list: %+v", c)
	}
	if s := r.Status(); s.Phase != Starting || s.Synced || s.Since.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestEveryProblemOfTheOptionsIsNamedAtOnce(t *testing.T) {
	_, err := New[*thing](nil, nil, Options{
		PageSize: -1, BackoffMin: time.Hour, BackoffMax: time.Minute, BackoffReset: -1,
		InitialEventsProgress: -1, ListProgress: -1, MaxObjects: -1, MaxListBytes: -1, WatchTimeoutMin: 2, WatchTimeoutMax: 1,
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"source", "sink", "PageSize", "BackoffMin", "BackoffReset", "InitialEventsProgress",
		"ListProgress", "MaxObjects", "MaxListBytes", "WatchTimeoutMin"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s:\n%v", name, err)
		}
	}
}

func TestOneBoundAloneTakesTheOtherWithIt(t *testing.T) {
	for _, o := range []Options{{BackoffMin: time.Hour}, {BackoffMax: time.Millisecond}, {WatchTimeoutMin: time.Hour}, {WatchTimeoutMax: time.Second}} {
		if _, err := o.withDefaults(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestASourceCanSayThatItDoesNotStream(t *testing.T) {
	s := newScript()
	s.noStream = true
	r, err := New[*thing](s, newRecorder(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.options.config().WatchList {
		t.Error("it is asked to all the same")
	}
}

var _ source.Source[*thing] = (*script)(nil)

func TestEveryDurationMayBeTheLongestThereIs(t *testing.T) {
	for i := range reflect.TypeFor[Options]().NumField() {
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64/2 + 1} {
			opts := Options{Rand: highest, DisableWatchList: true}
			v := reflect.ValueOf(&opts).Elem().Field(i)
			if v.Type() != reflect.TypeFor[time.Duration]() {
				continue
			}
			name := reflect.TypeFor[Options]().Field(i).Name
			v.SetInt(int64(d))
			opts.BackoffMin = min(opts.BackoffMin, time.Second) // or nothing follows the failure
			play(t, opts, []answer{fails(errReset), after(time.Second, lists("5")), sends(silence, bookmark("6"))}, func(t *testing.T, p *playing) {
				p.pass(4 * time.Minute)
				if len(p.errors) != 1 || p.Status().ResourceVersion != "6" {
					t.Errorf("%s of %v: %v, %s", name, d, p.errors, p.script.heard())
				}
			})
		}
	}
}
