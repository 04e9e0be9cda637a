package phaselog

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever an informer does, there is at most one line a minute of a message and cause,
// except that of each recovery there is one if its failure has one; and each failure is
// in exactly one line, or in none for less than a minute.
func TestThereIsAtMostOneLineAMinuteAndCauseAndNoFailureIsForgotten(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	causes := []error{
		apierrors.NewUnauthorized("who"), apierrors.NewInternalError(errors.New("etcd")), apierrors.NewTooManyRequests("busy", 1),
	}
	var l Log
	var s reflector.Status
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	written := map[kind]time.Time{}
	unsaid := map[string]uint64{}
	fails, wells := 0, 0
	for range 200_000 {
		now = now.Add(time.Duration(r.ExpFloat64() * float64(10*time.Second)))
		failed := ""
		switch r.IntN(4) {
		case 0:
			err := causes[r.IntN(len(causes))]
			n := 1 + r.Uint64N(2)
			s.Phase, s.Errors = reflector.BackingOff, s.Errors+n
			s.LastError, s.FailingSince = err, now
			s.Recent.Last, s.Recent.LastTime = err, now
			failed = string(status.CauseOf(err))
			unsaid[failed] += n
		case 1:
			s.Phase = reflector.Listing
			s.ListsByCause[r.IntN(len(s.ListsByCause))]++
		default:
			s.Phase, s.Synced, s.LastError, s.FailingSince = reflector.Watching, true, nil, time.Time{}
			s.Published++
		}
		line, ok := l.Next(now, &s)
		k := kind{line.What, line.Cause}
		if failed != "" && !ok && now.Sub(written[kind{Fails, failed}]) >= time.Minute {
			t.Fatalf("%s: no line, and the last was at %v", failed, written[kind{Fails, failed}])
		}
		if !ok {
			continue
		}
		switch line.What {
		case Fails:
			fails++
			if line.Cause != failed || line.Err != s.Recent.Last || line.Failures != unsaid[failed] {
				t.Fatalf("%+v, of %d failures of %s", line, unsaid[failed], failed)
			}
			unsaid[failed] = 0
		case Well:
			if wells++; wells > fails || line.Failures == 0 || line.Since.IsZero() || line.Since.After(now) {
				t.Fatalf("recovery %d after %d lines of failures: %+v", wells, fails, line)
			}
			continue
		}
		if d := now.Sub(written[k]); d < time.Minute {
			t.Fatalf("%v with cause %q %v after the last", line.What, line.Cause, d)
		}
		written[k] = now
	}
	if fails == 0 || wells == 0 {
		t.Errorf("%d failures and %d recoveries were logged", fails, wells)
	}
}

// Each failure is in one line, which stands for those since the last.
func TestEachCauseIsLoggedOnceAMinute(t *testing.T) {
	refused, other := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")), apierrors.NewInternalError(errors.New("etcd"))
	var l Log
	var s reflector.Status
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lines, failures := map[error]int{}, map[error]uint64{}
	for half := range 2*60 + 1 {
		for _, err := range []error{refused, other} {
			s.Phase, s.LastError, s.Recent.Last = reflector.BackingOff, err, err
			s.Errors += 2
			if line, ok := l.Next(start.Add(time.Duration(half)*30*time.Second), &s); ok {
				lines[line.Err]++
				failures[line.Err] += line.Failures
			}
		}
	}
	if lines[refused] != 61 || lines[other] != 61 || failures[refused] != 242 || failures[other] != 242 {
		t.Errorf("lines %v of failures %v in an hour", lines, failures)
	}
}
