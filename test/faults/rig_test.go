package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

// setup is what a test begins with.
type setup struct {
	// server are its options; Inject and Replicas are the rig's.
	server apiserver.Options
	// objects is how many there are: o0, o1 …; 3 if 0.
	objects int
	// script is played from the first request on; see also rig.arm.
	script apiserver.Script
	// replica puts a second server behind the address.
	replica bool
	// json has the test run in JSON as well.
	json bool
}

// each runs body over every engine, with an informer that was just started, in
// a bubble of its own. When body has returned, the informer has half an hour to
// settle, and is then looked at for what must hold after any fault.
func each(t *testing.T, s setup, body func(r *rig)) { over(t, engines(), s, body) }

// over is each, with some of the engines.
func over(t *testing.T, engines []engine, s setup, body func(r *rig)) {
	for _, e := range engines {
		for _, encoding := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
			if encoding == runtime.ContentTypeJSON && !s.json {
				continue
			}
			t.Run(e.name+"/"+encoding[strings.LastIndexAny(encoding, "./")+1:], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { play(t, e, encoding, s, body) })
			})
		}
	}
}

// rig is one informer with a server of its own.
type rig struct {
	t       *testing.T
	engine  engine
	storage *apiserver.Storage
	server  *apiserver.Server
	replica *apiserver.Server
	inf     informer
	told    *recorder

	mu       sync.Mutex
	inject   apiserver.Inject // guarded by mu, as all below
	script   apiserver.Script
	played   map[*apiserver.Fault]bool
	between  func()
	requests []request
	errs     []error
	// elsewhere counts the requests that the replica answered.
	elsewhere int
}

// request is one that the server got.
type request struct {
	at    time.Time
	what  string
	fault bool
}

func play(t *testing.T, e engine, encoding string, s setup, body func(r *rig)) {
	r := &rig{t: t, engine: e, storage: apiserver.NewStorage(apiserver.ConfigMaps)}
	r.arm(s.script)
	if s.objects == 0 {
		s.objects = 3
	}
	for i := range s.objects {
		r.put(fmt.Sprintf("o%d", i), "1")
	}
	s.server.Inject = r.note
	if s.replica {
		r.replica = apiserver.New(r.storage, apiserver.Options{Inject: func(req *apiserver.Request) *apiserver.Fault {
			f := r.note(req)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.elsewhere++
			return f
		}})
		defer r.replica.Close()
		s.server.Replicas = []*apiserver.Server{r.replica}
	}
	r.server = apiserver.New(r.storage, s.server)
	defer r.server.Close()
	cfg := r.server.Config()
	cfg.ContentType = encoding
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return asking{rt, encoding} })
	r.start(cfg)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.inf.Run(ctx) }()
	body(r)
	r.counted()
	r.arm(nil)
	testbubble.Elapse(30 * time.Minute)
	r.settled()
	stop()
	<-ended
}

// begins is sequence for requests that only watches follow, all answered: a watch after a failure
// lasts 30 to 60 s while no bookmark has come. It returns the requests of the sequence.
func (r *rig) begins(reqs []request, whats ...string) []request {
	r.t.Helper()
	n := min(len(whats), len(reqs))
	for _, q := range reqs[n:] {
		if q.fault || !strings.HasPrefix(q.what, "watch ") {
			r.t.Errorf("then asked for %v", reqs[n:])
		}
	}
	r.sequence(reqs[:n], whats...)
	return reqs[:n]
}

// asking asks for one encoding.
type asking struct {
	http.RoundTripper
	accept string
}

func (a asking) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", a.accept)
	return a.RoundTripper.RoundTrip(req)
}

func (r *rig) start(cfg *rest.Config) {
	inf, err := r.engine.start(cfg, func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.inf, r.told = inf, newRecorder(inf)
	if err := inf.AddHandler(r.told); err != nil {
		r.t.Fatal(err)
	}
}

// note writes a request down, with what goes wrong with it.
func (r *rig) note(req *apiserver.Request) *apiserver.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if do := r.between; do != nil {
		r.between = nil
		do()
	}
	f := r.inject(req)
	r.played[f] = true
	r.requests = append(r.requests, request{time.Now(), name(req), f != nil})
	return f
}

// name is how tests write a request.
func name(req *apiserver.Request) string {
	o := &req.Options
	switch {
	case req.WatchList():
		return "watch-list"
	case o.Continue != "":
		return "continue"
	case req.Verb == "watch":
		return "watch " + o.ResourceVersion
	case o.ResourceVersion == "" && o.Limit == 1:
		return "probe"
	case o.ResourceVersion == "":
		return "list latest"
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan,
		// Closures are asked as client-go asks them: without a limit it is the default.
		o.ResourceVersionMatch == "" && o.Limit == 0 && o.ResourceVersion != "0":
		return "list from " + o.ResourceVersion
	}
	return "list " + o.ResourceVersion
}

// arm has the script played from the next request on. Of the one before, every
// rule must have been played.
func (r *rig) arm(script apiserver.Script) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.script {
		if !r.played[&r.script[i].Fault] {
			r.t.Errorf("fault %d of the script did not happen", i)
		}
	}
	r.inject, r.script, r.played = script.Inject(), script, map[*apiserver.Fault]bool{}
}

// disconnect breaks all connections off, and calls do, which may write to the
// storage, before the next request is answered: nobody sees it happen.
func (r *rig) disconnect(do func()) {
	r.mu.Lock()
	r.between = do
	r.mu.Unlock()
	r.server.Disconnect()
}

// took returns the requests since the last call of took or asked, without
// probes: those are the subject of the tests in restored_test.go.
func (r *rig) took() []request {
	return slices.DeleteFunc(r.tookAll(), func(q request) bool { return q.what == "probe" })
}

// tookAll is took with the probes.
func (r *rig) tookAll() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	reqs := r.requests
	r.requests = nil
	return reqs
}

// asked checks which requests there were since it was last called, those that
// had a fault marked with a "!".
func (r *rig) asked(want ...string) {
	r.t.Helper()
	r.sequence(r.took(), want...)
}

// sequence checks what requests were about.
func (r *rig) sequence(reqs []request, want ...string) {
	r.t.Helper()
	var got []string
	for _, q := range reqs {
		if q.fault {
			q.what += "!"
		}
		got = append(got, q.what)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("asked for  %q\n       want %q", got, want)
	}
}

// apart checks that so much time was between a request and the next.
func (r *rig) apart(reqs []request, i int, least time.Duration) {
	r.t.Helper()
	if len(reqs) < i+2 {
		r.t.Errorf("%d requests, and the gap after number %d was asked for", len(reqs), i)
		return
	}
	if gap := reqs[i+1].at.Sub(reqs[i].at); gap < least {
		r.t.Errorf("%s was followed by %s after %v, not %v", reqs[i].what, reqs[i+1].what, gap, least)
	}
}

// heard checks what the handler was told since it was last called.
func (r *rig) heard(want ...string) {
	r.t.Helper()
	if got := r.told.take(); !slices.Equal(got, want) {
		r.t.Errorf("was told %q\n     want %q", got, want)
	}
}

// synced lets the informer sync, and forgets what it asked and was told.
func (r *rig) synced() {
	r.t.Helper()
	testbubble.Elapse(time.Second)
	if !r.inf.HasSynced() {
		r.t.Fatal("has not synced")
	}
	r.took()
	r.told.take()
}

// put writes an object, and returns its version.
func (r *rig) put(name, value string) string {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"value": value}}
	out, err := r.storage.Put(obj)
	if err != nil {
		r.t.Fatal(err)
	}
	return out.(object).ResourceVersion
}

func (r *rig) remove(name string) {
	if _, err := r.storage.Delete(apiserver.ConfigMaps.GroupResource(), types.NamespacedName{Namespace: "default", Name: name}, nil); err != nil {
		r.t.Fatal(err)
	}
}

// version is the server's.
func (r *rig) version() string { return fmt.Sprint(r.storage.Revision()) }

// values are those in the store, as "o0=1".
func (r *rig) values() []string {
	var out []string
	for _, o := range r.inf.List() {
		out = append(out, o.Name+"="+o.Data["value"])
	}
	slices.Sort(out)
	return out
}

// shows checks what the store has.
func (r *rig) shows(want ...string) {
	r.t.Helper()
	if got := r.values(); !slices.Equal(got, want) {
		r.t.Errorf("the store has %q\n         want %q", got, want)
	}
}

// status checks the phase, and the last error by is; nil wants none.
func (r *rig) status(phase reflector.Phase, is func(error) bool) {
	r.t.Helper()
	st := r.inf.Status()
	if st.Phase != phase {
		r.t.Errorf("the phase is %v, want %v", st.Phase, phase)
	}
	if is == nil && st.LastError != nil || is != nil && !is(st.LastError) {
		r.t.Errorf("the last error is %v", st.LastError)
	}
}

// reported checks that such an error has been reported. Package cache only logs some errors,
// so there the last one in the status counts as well, except for a refusal or a restored
// server: handlers must get those.
func (r *rig) reported(what string, is func(error) bool) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.inf.Status().Recent.Last; r.engine.name == "cache" && last != nil && is(last) &&
		!apierrors.IsUnauthorized(last) && !errors.Is(last, reflector.ErrRestored) {
		return
	}
	if !slices.ContainsFunc(r.errs, is) {
		r.t.Errorf("no error that %s among %v", what, r.errs)
	}
}

// settled checks that all is well in the end.
func (r *rig) settled() {
	r.t.Helper()
	objs, revision := r.storage.List(apiserver.ConfigMaps.GroupResource())
	got := r.inf.List()
	slices.SortFunc(got, func(a, b object) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(objs, func(a, b runtime.Object) int { return strings.Compare(a.(object).Name, b.(object).Name) })
	if len(got) != len(objs) {
		r.t.Errorf("the store has %d objects, the server %d", len(got), len(objs))
	}
	for i := range min(len(got), len(objs)) {
		if !equality.Semantic.DeepEqual(got[i], objs[i]) {
			r.t.Errorf("the store has %s at %s, the server %s at %s", got[i].Name, got[i].ResourceVersion, objs[i].(object).Name, objs[i].(object).ResourceVersion)
		}
	}
	if rv := r.inf.ResourceVersion(); rv != fmt.Sprint(revision) {
		r.t.Errorf("the store is at %s, the server at %d", rv, revision)
	}
	for _, crime := range r.told.crimes() {
		r.t.Errorf("was told %s", crime)
	}
	r.status(reflector.Watching, nil)
	if q := r.inf.Quarantined(); len(q) > 0 {
		r.t.Errorf("still quarantined: %v", q)
	}
}
