package rules

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// scenario is something that happens to an informer.
type scenario struct {
	name string
	opts kinglet.Options[configMap]
	// script is what goes wrong from the start.
	script apiserver.Script
	body   func(w *world)
	// alerts fire because of it, and no others.
	alerts []string
	// lasting ones still fire at the end.
	lasting bool
}

func forbidden() error {
	return apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", nil)
}

func always(f apiserver.Fault) apiserver.Script { return apiserver.Script{{Times: -1, Fault: f}} }

// scenarios each begin with ten minutes in good order, unless they have a script.
var scenarios = []scenario{
	{
		name: "in good order",
		body: func(w *world) { w.pass(2 * time.Hour) },
	},
	{
		name:   "access is revoked",
		alerts: []string{"KingletInformerBroken", "KingletInformerStale"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			w.script(always(apiserver.Fault{Answer: forbidden()}))
			w.server.Disconnect()
			w.pass(10 * time.Minute)
			w.script(nil)
			w.pass(10 * time.Minute)
		},
	},
	{
		name:   "a server that accepts and says nothing",
		alerts: []string{"KingletInformerStale"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			w.script(always(apiserver.Fault{Delay: time.Hour}))
			w.server.Disconnect()
			w.pass(15 * time.Minute)
			w.script(nil)
			w.server.Disconnect()
			w.pass(10 * time.Minute)
		},
	},
	{
		name:   "never allowed",
		script: always(apiserver.Fault{Answer: forbidden()}),
		alerts: []string{"KingletInformerBroken", "KingletInformerNotSynced"},
		body:   func(w *world) { w.pass(15 * time.Minute) }, lasting: true,
	},
	{
		name:   "versions that expire at once",
		alerts: []string{"KingletInformerRelists"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			for range 10 {
				w.server.Disconnect()
				w.script(apiserver.Script{{
					Match: func(r *apiserver.Request) bool { return r.Verb == "watch" && !r.WatchList() },
					Fault: apiserver.Fault{Answer: apierrors.NewResourceExpired("too old")},
				}})
				w.pass(2 * time.Minute)
			}
			w.pass(time.Hour)
		},
	},
	{
		name:   "an object that cannot be read",
		alerts: []string{"KingletObjectsNotStored"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			w.script(always(apiserver.Fault{Damage: func(key types.NamespacedName) bool { return key.Name == "o7" }}))
			w.server.Disconnect()
			w.pass(time.Minute)
			w.put(7, "damaged")
			w.pass(10 * time.Minute)
			w.script(nil)
			w.server.Disconnect()
			w.pass(time.Minute)
			w.put(7, "in order")
			w.pass(10 * time.Minute)
		},
	},
	{
		name:   "a handler that stands still",
		alerts: []string{"KingletHandlerStalled"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			release := w.hold(&w.holdHandler)
			w.pass(10 * time.Minute)
			release()
			w.pass(10 * time.Minute)
		},
	},
	{
		name:   "a difference",
		opts:   kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Every: time.Minute}},
		alerts: []string{"KingletStoreWrong"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			key := kinglet.Key{Namespace: "default", Name: "o9"}
			if _, ok := w.inf.WritableStore().Delete(key); !ok {
				w.Error("there is nothing to delete")
			}
			w.pass(10 * time.Minute)
			w.pass(80 * time.Minute)
		},
	},
	{
		name:   "a controller that hangs",
		alerts: []string{"KingletControllerBehind"},
		body: func(w *world) {
			w.pass(10 * time.Minute)
			release := w.hold(&w.holdRuns)
			w.pass(10 * time.Minute)
			release()
			w.pass(10 * time.Minute)
		},
	},
}
