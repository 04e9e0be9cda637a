package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// faultReport is a fault, and what is reported of it.
type faultReport struct {
	name  string
	fault apiserver.Fault
	// times is how often it comes; 1 if 0.
	times int
	// is reports whether an error is the expected one.
	is func(error) bool
	// mentions must all be in its text.
	mentions []string
}

func lost(stage source.Stage) func(error) bool {
	return func(err error) bool {
		item, ok := errors.AsType[*kinglet.ItemError](err)
		return ok && item.Stage == stage
	}
}

// stranger returns what is sent behind the event of an object.
func stranger(make func(name, version string) runtime.Object) func(runtime.Object) runtime.Object {
	return func(obj runtime.Object) runtime.Object { return make(obj.(object).Name, obj.(object).ResourceVersion) }
}

func TestOfEachFaultOfAListTheErrorNamesIt(t *testing.T) {
	resource := apiserver.ConfigMaps.GroupResource()
	reports(t, "list", []faultReport{
		{name: "forbidden", is: apierrors.IsForbidden, mentions: []string{"configmaps", "list", "no RBAC"},
			fault: apiserver.Fault{Answer: apierrors.NewForbidden(resource, "", errors.New("no RBAC policy matched"))}},
		{name: "not found", is: apierrors.IsNotFound, mentions: []string{"configmaps", "could not find"},
			fault: apiserver.Fault{Answer: apierrors.NewGenericServerResponse(404, "list", resource, "", "", 0, false)}},
		{name: "expired", is: apierrors.IsResourceExpired, mentions: []string{"configmaps", "too old"},
			fault: apiserver.Fault{Answer: apierrors.NewResourceExpired("too old resource version: 1 (100)")}},
		// client-go tries ten times before it says so.
		{name: "one too many", times: 11, is: something, mentions: []string{"configmaps"},
			fault: apiserver.Fault{Answer: apierrors.NewTooManyRequests("slow down", 3)}},
		{name: "fails inside the server", is: apierrors.IsInternalError, mentions: []string{"configmaps", "etcd"},
			fault: apiserver.Fault{Answer: apierrors.NewInternalError(errors.New("etcd is away"))}},
		{name: "cut off", is: something, mentions: []string{"configmaps", "unexpected EOF"}, fault: apiserver.Fault{CutAfter: 50}},
	})
}

func TestOfEachFaultOfAWatchTheErrorNamesIt(t *testing.T) {
	reports(t, "watch", []faultReport{
		{name: "an error event", is: apierrors.IsInternalError, mentions: []string{"configmaps", "watch", "cache was reset"},
			fault: apiserver.Fault{EndAfter: -1, End: apierrors.NewInternalError(errors.New("the watch cache was reset"))}},
		{name: "an unknown event type", is: something, mentions: []string{"configmaps", "EXPLODED"},
			fault: apiserver.Fault{EndAfter: 1, Type: "EXPLODED"}},
		{name: "an object of another type", is: lost(source.StageDecode), mentions: []string{"Pod"},
			fault: apiserver.Fault{Stranger: stranger(func(name, version string) runtime.Object {
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
			})}},
		{name: "an object without a name", is: lost(source.StageKey), mentions: []string{"name"},
			fault: apiserver.Fault{Stranger: stranger(func(_, version string) runtime.Object {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", ResourceVersion: version}}
			})}},
		{name: "an object that does not decode", is: lost(source.StageDecode), mentions: []string{"default/o1"},
			fault: apiserver.Fault{EndAfter: 1, Damage: damaged.Damage}},
	})
}

// reports has each fault come to a list, or to the first watch after it, and looks
// for its error. Only package kinglet reports what becomes of single objects.
func reports(t *testing.T, verb string, faults []faultReport) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			script := apiserver.Script{{Times: f.times, Fault: f.fault, Match: func(q *apiserver.Request) bool {
				return q.Verb == verb && !q.WatchList()
			}}}
			over(t, engines()[:1], setup{server: paged, json: true, script: script}, func(r *rig) {
				testbubble.Elapse(5 * time.Minute)
				r.put("o1", "2")
				r.remove("o2")
				r.put("o3", "1")
				testbubble.Elapse(5 * time.Minute)
				r.put("o1", "3")
				testbubble.Elapse(10 * time.Minute) // a watch that begins anew may last as long
				r.shows("o0=1", "o1=3", "o3=1")
				r.reported(fmt.Sprintf("is that one, and mentions %q", f.mentions), func(err error) bool {
					for _, s := range f.mentions {
						if !strings.Contains(err.Error(), s) {
							return false
						}
					}
					return f.is(err)
				})
			})
		})
	}
}
