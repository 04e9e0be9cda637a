package torture_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// roleKeys is the number of keys.
const roleKeys = 6

// stateLabel is the label that tells one state of an object from all others.
const stateLabel = "state"

// roles is the server of a plan, and what it grants. It is the transport of clients, or
// the reactors of a fake clientset.
type roles struct {
	plan *rolePlan
	rnd  *rand.Rand

	resource apiserver.Resource
	storage  *apiserver.Storage
	server   *apiserver.Server
	next     http.RoundTripper

	fake *fake.Clientset

	// truth is what the server has: the state by name. number is that of the last write.
	truth  map[string]string
	number int

	mu sync.Mutex
	// The fields below are guarded by mu.

	now *phase
	// seen counts the requests of this phase by verb.
	seen [verbs]int
	// open are the watches of the fake.
	open []watch.Interface
	// restarting: the server restarts before the next watch.
	restarting bool
	// at is when the last request came, busy how many came at that moment, and hot whether
	// that were more than any client has a reason for.
	at   time.Time
	busy int
	hot  bool
	// log has the refused and the granted requests of the last phase, at most 100.
	log []string
}

func newRoles(p *rolePlan) *roles {
	w := &roles{plan: p, rnd: rand.New(rand.NewPCG(p.seed, 8)), truth: map[string]string{}, resource: apiserver.ConfigMaps, now: &p.phases[0]}
	switch p.kind {
	case fakes:
		w.fake = fake.NewClientset()
		w.fake.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			if r := w.refuse(list, ""); r != nil {
				return true, nil, r.err
			}
			return false, nil, nil
		})
		w.fake.PrependWatchReactor("*", w.watchFake)
		return w
	case custom:
		w.resource = apiserver.Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: p.version, Resource: "widgets"}, Kind: "Widget",
		}
	}
	w.storage = apiserver.NewStorage(w.resource)
	w.storage.Skip(1 << 20) // what is numbered anew is older
	w.server = apiserver.New(w.storage, apiserver.Options{WithoutWatchList: !p.streams})
	return w
}

// config returns a config for the server.
func (w *roles) config() *rest.Config {
	cfg := w.server.Config()
	if w.plan.proto {
		cfg.ContentType = runtime.ContentTypeProtobuf
	}
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		w.next = rt
		return w
	})
	return cfg
}

func (w *roles) close() {
	if w.server != nil {
		w.server.Close()
	}
}

// begin begins a phase.
func (w *roles) begin(ph *phase) {
	w.mu.Lock()
	w.now, w.seen, w.log = ph, [verbs]int{}, nil
	w.restarting = ph.restart
	open := w.open
	if ph.disconnect {
		w.open = nil
	}
	w.mu.Unlock()
	if w.fake != nil {
		for _, o := range open {
			if ph.disconnect {
				o.Stop()
			}
		}
		return
	}
	if ph.compact {
		w.storage.Compact(w.storage.Revision())
	}
	if ph.disconnect {
		w.server.Disconnect()
	}
}

// refuse returns the refusal of a request, or nil.
func (w *roles) refuse(verb int, what string) *refusal {
	w.cool()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.now.refused[verb]
	if w.seen[verb]++; w.now.times > 0 && w.seen[verb] > w.now.times {
		r = nil
	}
	line := fmt.Sprintf("%v %s %s", time.Now().Format("04:05.000"), [verbs]string{"list", "watch-list", "watch"}[verb], what)
	if r != nil {
		line += ": " + r.name
	}
	if len(w.log) < 100 {
		w.log = append(w.log, line)
	}
	return r
}

// mostAtOnce is how many requests a client may send at one moment. Client-go sends them
// without end if each watch-list ends at once.
const mostAtOnce = 50

// cool makes time pass if a client sends requests without a wait, since otherwise none would.
func (w *roles) cool() {
	w.mu.Lock()
	if w.busy++; !w.at.Equal(time.Now()) {
		w.at, w.busy = time.Now(), 0
	}
	hot := w.busy > mostAtOnce
	w.hot = w.hot || hot
	w.mu.Unlock()
	if hot {
		testbubble.Pass(time.Second)
	}
}

// restart reports whether to restart now.
func (w *roles) restart(verb int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if verb != watches || !w.restarting || w.seen[list] == 0 {
		return false
	}
	w.restarting = false
	return true
}

// watchFake is the reactor to watches.
func (w *roles) watchFake(action clienttesting.Action) (bool, watch.Interface, error) {
	a := action.(clienttesting.WatchActionImpl)
	verb := watches
	if s := a.ListOptions.SendInitialEvents; s != nil && *s {
		verb = stream
	}
	if r := w.refuse(verb, a.ListOptions.ResourceVersion); r != nil {
		return true, nil, r.err
	}
	o, err := w.fake.Tracker().Watch(a.GetResource(), a.GetNamespace(), a.ListOptions)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open = append(w.open, o)
	}
	return true, o, err
}

// RoundTrip implements http.RoundTripper.
func (w *roles) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	verb := list
	switch {
	case q.Get("sendInitialEvents") == "true":
		verb = stream
	case q.Get("watch") != "":
		verb = watches
	}
	if no := w.refuse(verb, q.Get("resourceVersion")); no != nil {
		if no.code == 0 {
			return nil, no.err
		}
		h := http.Header{"Content-Type": {no.content}}
		if no.content == "" {
			h = http.Header{}
		}
		if strings.Contains(no.name, "Retry-After") {
			h.Set("Retry-After", "1")
		}
		return &http.Response{Status: http.StatusText(no.code), StatusCode: no.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: h, Body: io.NopCloser(strings.NewReader(no.body)), ContentLength: int64(len(no.body)), Request: r}, nil
	}
	if w.restart(verb) {
		w.storage.Restart()
		w.lose()
	}
	if !w.plan.opaque && w.plan.listKind == "" && w.plan.history == kept {
		return w.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	if rv := q.Get("resourceVersion"); strings.HasPrefix(rv, "r") {
		q.Set("resourceVersion", rv[1:])
	}
	if w.plan.history != kept {
		q.Del("allowWatchBookmarks")
	}
	if w.plan.history == fromNow && verb == watches {
		q.Set("resourceVersion", fmt.Sprint(w.storage.Revision()))
	}
	r.URL.RawQuery = q.Encode()
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = &rewriting{ReadCloser: resp.Body, lines: bufio.NewReader(resp.Body), plan: w.plan}
	return resp, nil
}

// rewriting is a body of JSON, line by line, with other versions and kinds.
type rewriting struct {
	io.ReadCloser
	lines *bufio.Reader
	plan  *rolePlan
	rest  []byte
	err   error
}

var versionInJSON = regexp.MustCompile(`"resourceVersion":"([1-9]\d*)"`)

func (b *rewriting) Read(p []byte) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		b.rest, b.err = b.lines.ReadBytes('\n')
		if b.plan.opaque {
			b.rest = versionInJSON.ReplaceAll(b.rest, []byte(`"resourceVersion":"r$1"`))
		}
		if b.plan.history == versionless {
			b.rest = versionInJSON.ReplaceAll(b.rest, []byte(`"resourceVersion":""`))
		}
		if b.plan.listKind != "" {
			b.rest = bytes.Replace(b.rest, []byte(`"kind":"ConfigMapList"`), []byte(`"kind":"`+b.plan.listKind+`"`), 1)
		}
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// lose forgets what the server had.
func (w *roles) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.truth)
}

// has returns what the server has.
func (w *roles) has() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.truth)
}

// write makes a random write.
func (w *roles) write() {
	name := fmt.Sprintf("object-%d", w.rnd.IntN(roleKeys))
	remove := w.rnd.IntN(3) == 0
	w.number++
	state := fmt.Sprint(w.number)
	w.mu.Lock()
	_, there := w.truth[name]
	switch {
	case remove:
		delete(w.truth, name)
	default:
		w.truth[name] = state
	}
	w.mu.Unlock()
	if remove && !there {
		return
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{stateLabel: state}}
	var obj runtime.Object = &corev1.ConfigMap{ObjectMeta: meta}
	if w.plan.kind == custom {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(w.resource.GroupVersion().WithKind(w.resource.Kind))
		u.SetNamespace(meta.Namespace)
		u.SetName(name)
		u.SetLabels(meta.Labels)
		obj = u
	}
	if err := w.store(obj, name, remove, there); err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", name, err))
	}
}

func (w *roles) store(obj runtime.Object, name string, remove, there bool) (err error) {
	gvr := w.resource.GroupVersionResource
	switch {
	case w.fake == nil && remove:
		_, err = w.storage.Delete(gvr.GroupResource(), types.NamespacedName{Namespace: "default", Name: name}, nil)
	case w.fake == nil:
		_, err = w.storage.Put(obj)
	case remove:
		err = w.fake.Tracker().Delete(gvr, "default", name)
	case there:
		err = w.fake.Tracker().Update(gvr, obj, "default")
	default:
		err = w.fake.Tracker().Create(gvr, obj, "default")
	}
	return err
}

// course is what came of one engine and one plan.
type course struct {
	// settled is how long after the last write, or the begin of the last phase, the store
	// began to equal the server and then went on to; negative if it never did.
	settled time.Duration
	// wrong counts the keys that differ in the end.
	wrong int
	shown string
	hot   bool
	log   []string
}

// run takes an engine through the plan.
func (w *roles) run(ctx context.Context, e roleEngine) (course, error) {
	for range w.plan.before {
		w.write()
	}
	w.begin(&w.plan.phases[0])
	run, show, err := e.start(w)
	if err != nil {
		return course{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	var c course
	for i := range w.plan.phases {
		ph := &w.plan.phases[i]
		if i > 0 {
			w.begin(ph)
		}
		c.settled = w.live(ph, show)
	}
	has, shown := w.has(), show()
	for i := range roleKeys {
		name := fmt.Sprintf("object-%d", i)
		if has[name] != shown[name] {
			c.wrong++
		}
	}
	c.shown = fmt.Sprintf("the server has %v, the store %v", has, shown)
	c.log, c.hot = w.log, w.hot
	return c, nil
}

// live lets a phase pass, and returns how long the store took from the last write on.
func (w *roles) live(ph *phase, show func() map[string]string) time.Duration {
	began, since, right := time.Now(), time.Now(), time.Time{}
	writes := map[time.Duration]bool{}
	for _, at := range ph.writes {
		writes[at] = true
	}
	for {
		passed := time.Since(began)
		if passed >= ph.lasts {
			break
		}
		next := ph.lasts
		for at := range writes {
			if at <= passed {
				w.write()
				delete(writes, at)
				since, right = time.Now(), time.Time{}
				continue
			}
			next = min(next, at)
		}
		// A twentieth of the time is as exact as is needed.
		step := max(50*time.Millisecond, time.Since(since)/20)
		testbubble.Elapse(min(step, next-passed))
		switch equal := maps.Equal(w.has(), show()); {
		case !equal:
			right = time.Time{}
		case right.IsZero():
			right = time.Now()
		}
	}
	if right.IsZero() {
		return -1
	}
	return right.Sub(since)
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
