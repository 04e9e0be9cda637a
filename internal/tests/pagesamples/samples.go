// Package pagesamples has informers and controllers in many states, for tests and
// screenshots of package page. Only tests import it.
package pagesamples

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// Cluster is a program with informers in many states, as if it had run since began.
type Cluster struct{ began time.Time }

// New returns a cluster whose program has run for a day.
func New() *Cluster { return &Cluster{time.Now().Add(-26 * time.Hour)} }

// well is an informer that follows the server.
func (c *Cluster) well(name, group, resource string, objects int, perSecond float64) status.Informer {
	now := time.Now()
	ran := now.Sub(c.began).Seconds()
	i := status.Informer{
		Name:     name,
		Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
		Secrets:  resource == "secrets",
		Status: reflector.Status{
			Phase: reflector.Watching, Since: c.began.Add(time.Duration(len(name)) * time.Minute), Synced: true,
			// Busier and quieter minutes, so that charts have a shape.
			Events:          uint64(perSecond * (ran + 25*math.Sin(ran/70+perSecond) + 4*math.Sin(ran/11))),
			ResourceVersion: fmt.Sprint(88_000_000 + int64(ran*40)),
			Bytes:           uint64(objects)*2100 + uint64(perSecond*ran*1800), Streams: 1, Watches: 190, Published: 1,
			BookmarkInterval: 61 * time.Second, LastContact: now.Add(-time.Duration(3+objects%50) * time.Second / time.Duration(1+int(perSecond))),
			ReadPath: source.ReadPath{Path: source.PathProtobuf, Since: c.began},
		},
		Objects: objects,
		Sharing: status.Sharing{Values: 18_211, Bytes: 9 << 20, MaxBytes: 64 << 20, Hits: 9_182_731, Misses: 412_000},
	}
	i.LastEvent = i.LastContact
	i.ListsByCause[reflector.ListStart] = 1
	i.WatchEnds[reflector.WatchTimeout] = 189
	i.Bookmarks = uint64(ran / 61)
	i.EventsByType = reflector.EventCounts{Added: i.Events / 8, Modified: i.Events * 6 / 8, Deleted: i.Events / 8}
	h := status.Handler{Name: "queue", Synced: true, DeliveredThrough: i.ResourceVersion, Folded: i.Events / 90}
	h.Changes[store.Initial], h.Changes[store.Live] = uint64(objects), i.Events
	h.Calls.Counts[4], h.Calls.Counts[6], h.Calls.Sum = i.Events, i.Events/20, time.Duration(i.Events)*90*time.Microsecond
	i.Handlers = []status.Handler{h}
	return i
}

func fails(i *status.Informer, err error, since time.Duration, verb string) {
	now := time.Now()
	i.Phase, i.Since = reflector.BackingOff, now.Add(-7*time.Second)
	i.LastError = &reflector.Error{Name: i.Name, Source: i.Name, Verb: verb, ResourceVersion: i.ResourceVersion, Err: err}
	i.LastErrorTime, i.FailingSince, i.LastContact = now.Add(-7*time.Second), now.Add(-since), now.Add(-since-9*time.Second)
	i.Recent = reflector.RecentErrors{Last: i.LastError, LastTime: i.LastErrorTime, Count: 14}
	i.Errors = 14
}

// Refused is the error of a server that nothing listens for.
func Refused() error {
	return &url.Error{Op: "Get", URL: "https://10.96.0.1:443/api/v1/nodes", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
}

// refusal is the text of an API server's reason.
type refusal string

func (r refusal) Error() string { return string(r) }

// Forbidden is a server's refusal.
func Forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", refusal(fmt.Sprintf(
		"User \"system:serviceaccount:shop:reader\" cannot watch resource %q in API group \"\" at the cluster scope", resource)))
}

// Informers returns a dozen informers: some are well, and each of the others has a
// different problem.
func (c *Cluster) Informers() []*Informer {
	now := time.Now()
	all := []status.Informer{
		c.well("pods", "", "pods", 48_213, 212), c.well("nodes", "", "nodes", 1_204, 31), c.well("secrets", "", "secrets", 9_120, 0.2),
		c.well("configmaps", "", "configmaps", 3_377, 0.4), c.well("deployments", "apps", "deployments", 5_101, 12),
		c.well("replicasets", "apps", "replicasets", 31_940, 18), c.well("endpointslices", "discovery.k8s.io", "endpointslices", 6_604, 44),
		c.well("ingresses", "networking.k8s.io", "ingresses", 801, 0), c.well("services", "", "services", 4_410, 0.3),
		c.well("jobs", "batch", "jobs", 2_219, 6), c.well("certificates", "cert-manager.io", "certificates", 640, 0.1),
	}
	by := map[string]*status.Informer{}
	for k := range all {
		by[all[k].Name] = &all[k]
	}
	fails(by["secrets"], Forbidden("secrets"), 3*time.Minute+12*time.Second, "watch")
	by["pods"].Handlers = append(by["pods"].Handlers, status.Handler{
		Name: "index to search", Synced: true, Pending: 1_904, OldestPending: now.Add(-41 * time.Second), InFlight: 12,
		CallKey: store.Key{Namespace: "shop", Name: "web-7d4b9"}, CallSince: now.Add(-43 * time.Second), DeliveredThrough: "91239001",
	})
	by["deployments"].Quarantined, by["deployments"].QuarantinedSince, by["deployments"].Failures = 2, now.Add(-2*time.Hour), 5
	by["deployments"].FailuresByStage[status.StageDecode] = 5
	by["jobs"].Recent = reflector.RecentErrors{Last: apierrors.NewResourceExpired("too old resource version: 91239001 (91240117)"), LastTime: now.Add(-31 * time.Second), Count: 1}
	by["jobs"].Published, by["jobs"].ListsByCause[reflector.ListExpired] = 3, 2
	by["ingresses"].LastContact = now.Add(-72 * time.Second)
	by["certificates"].ReadPath = source.ReadPath{Path: source.PathJSON, Since: c.began}
	by["services"].ReadPath = source.ReadPath{Path: source.PathClient, Since: c.began, Why: source.ErrNoInterceptor}
	out := make([]*Informer, len(all))
	for k := range all {
		out[k] = Of(all[k])
	}
	return out
}

// Informer is an informer with a given status.
type Informer struct {
	Is status.Informer
	In status.Details
}

func (i *Informer) Status() status.Informer { return i.Is }
func (i *Informer) Inspect() status.Details { return i.In }

// Of makes an informer of a status, with details.
func Of(i status.Informer) *Informer { return &Informer{i, Details(&i)} }

// Controller is a controller with a given status.
type Controller struct {
	Is status.Controller
	In status.ControllerDetails
}

func (c *Controller) Status() status.Controller         { return c.Is }
func (c *Controller) Inspect() status.ControllerDetails { return c.In }

// Set returns a set that shows informers, and the cluster's controllers.
func (c *Cluster) Set(informers []*Informer) *kinglet.Set {
	set := kinglet.NewSet()
	for _, i := range informers {
		set.Observe(i)
	}
	for _, one := range c.Controllers() {
		set.ObserveController(one)
	}
	return set
}

// Details returns the details that the page unfolds.
func Details(i *status.Informer) status.Details {
	now := time.Now()
	d := status.Details{
		Watch: reflector.Request{Verb: reflector.Watch, ResourceVersion: i.ResourceVersion, At: now.Add(-4 * time.Minute), UnderWay: i.Phase == reflector.Watching, Timeout: 7*time.Minute + 13*time.Second},
		Indexes: []status.Index{
			{Name: "namespace", Values: 212, Entries: i.Objects, Bytes: int64(i.Objects) * 21, Largest: "shop", LargestObjects: i.Objects / 9},
			{Name: "node", Values: 1_204, Entries: i.Objects, Bytes: int64(i.Objects) * 23, Largest: "node-0417", LargestObjects: 110},
		},
		Memory: status.Memory{
			Sampled: 256, At: now.Add(-21 * time.Second), Objects: int64(i.Objects) * 1400, Keys: int64(i.Objects) * 96,
			LargestObjects:    []status.Sized{{Key: store.Key{Namespace: "shop", Name: "web-7d4b9"}, Bytes: 41_200}, {Key: store.Key{Namespace: "ci", Name: "runner-1f"}, Bytes: 22_400}, {Key: store.Key{Namespace: "shop", Name: "web-11c02"}, Bytes: 9_210}},
			LargestNamespaces: []status.Sized{{Key: store.Key{Namespace: "shop"}, Bytes: 1 << 20}, {Key: store.Key{Namespace: "ci"}, Bytes: 400_000}},
		},
		Transitions: []reflector.Transition{
			{At: now.Add(-26 * time.Hour), From: reflector.Starting, To: reflector.Streaming},
			{At: now.Add(-26*time.Hour + 2*time.Second), From: reflector.Streaming, To: reflector.Watching},
			{At: now.Add(-4 * time.Minute), From: reflector.Watching, To: reflector.BackingOff, Err: Refused()},
			{At: now.Add(-4*time.Minute + 900*time.Millisecond), From: reflector.BackingOff, To: reflector.Watching},
		},
	}
	if i.Quarantined > 0 {
		d.Quarantined = []status.Quarantined{
			{Key: store.Key{Namespace: "shop", Name: "legacy"}, Stage: status.StageDecode, Err: `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`, Since: now.Add(-2 * time.Hour), Stale: true},
			{Key: store.Key{Namespace: "ci", Name: "old"}, Stage: status.StageDecode, Err: `json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string`, Since: now.Add(-time.Hour)},
		}
	}
	return d
}

// Controllers returns two controllers: one is well, one is not.
func (c *Cluster) Controllers() []*Controller {
	now := time.Now()
	one := func(s status.Controller) *Controller {
		s.Runs.Counts[6], s.Runs.Sum = s.Succeeded+s.Failed, time.Duration(s.Succeeded+s.Failed)*19*time.Millisecond
		s.Waits.Counts[3], s.Waits.Sum = s.Succeeded+s.Failed, time.Duration(s.Succeeded+s.Failed)*210*time.Microsecond
		return &Controller{s, status.ControllerDetails{
			Running: []status.KeyStatus{{Key: "shop/web", State: "running", Since: now.Add(-800 * time.Millisecond), Cause: "update"}},
			Failing: []status.KeyStatus{{Key: "ci/old", State: "waiting", Since: now.Add(-time.Minute), Next: now.Add(40 * time.Second), Failures: 9, Error: `create Service "old": the server rejected our request: quota exceeded`}},
		}}
	}
	return []*Controller{
		one(status.Controller{Name: "deployment", Workers: 8, GateOpen: true, Running: 1, Waiting: 4, Succeeded: 91_220, Failed: 3}),
		one(status.Controller{Name: "cleanup", Workers: 2, GateOpen: true, Running: 1, Queued: 3, OldestQueued: now.Add(-2 * time.Second), Failing: 2, Succeeded: 400, Failed: 77,
			Hot: []status.HotKey{{Key: "ci/old", Runs: 44, Causes: map[string]int{"retry": 40, "update": 4}}}}),
	}
}

// Many returns n informers, of which one in ten is not well.
func (c *Cluster) Many(n int) []*Informer {
	out := make([]*Informer, n)
	for k := range out {
		i := c.well(fmt.Sprintf("widgets-%04d", k), "example.com", fmt.Sprintf("widgets%04d", k), 10*k, float64(k%7))
		switch k % 30 {
		case 3:
			fails(&i, Refused(), time.Minute, "watch")
		case 13:
			fails(&i, Forbidden(i.Resource.Resource), time.Hour, "list")
		case 23:
			i.Quarantined, i.QuarantinedSince = 1, time.Now().Add(-time.Minute)
		}
		out[k] = Of(i)
	}
	return out
}

// Hostile returns informers whose names and errors are text.
func (c *Cluster) Hostile(text string) []*Informer {
	failing := c.well(text, text, text, 3, 1)
	fails(&failing, errors.New(text), time.Minute, "list")
	failing.Handlers[0].Name, failing.ResourceVersion = text, text
	failing.Handlers[0].CallKey, failing.Handlers[0].CallSince, failing.Handlers[0].InFlight = store.Key{Namespace: text, Name: text}, time.Now().Add(-time.Minute), 1
	failing.Quarantined = 1
	failing.ReadPath = source.ReadPath{Path: source.PathClient, Why: errors.New(text)}
	refused := c.well("pods", "", "pods", 3, 1)
	fails(&refused, apierrors.NewForbidden(schema.GroupResource{Resource: text}, text, errors.New(`User "`+text+`" cannot list resource "`+text+`"`)), time.Minute, "list")
	out := []*Informer{Of(failing), Of(refused)}
	d := &out[0].In
	d.Indexes[0].Name, d.Indexes[0].Largest = text, text
	d.Memory.LargestObjects[0].Key, d.Memory.LargestNamespaces[0].Key = store.Key{Namespace: text, Name: text}, store.Key{Namespace: text}
	d.Transitions[2].Err = errors.New(text)
	d.Watch.ResourceVersion = text
	d.Quarantined[0].Key, d.Quarantined[0].Err = store.Key{Namespace: text, Name: text}, text
	return out
}
