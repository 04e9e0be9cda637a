package page

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

func watchPanel(now time.Time, r *reflector.Request) panel {
	p := panel{Title: "Request", None: "None was sent."}
	if r.At.IsZero() {
		return p
	}
	state := "the last one, which has ended"
	if r.UnderWay {
		state = "under way"
	}
	p.pair("verb", r.Verb.String())
	p.pair("state", state)
	p.pair("sent", since(now, r.At)+" ago")
	if r.Continued {
		p.pair("continued", "yes")
	} else {
		p.pair("resourceVersion", "\""+r.ResourceVersion+"\"")
	}
	if r.Limit > 0 {
		p.pair("limit", quantity.Count(r.Limit))
	}
	if r.Timeout > 0 {
		p.pair("timeout", quantity.Duration(r.Timeout))
	}
	return p
}

func (e *entry) transitions(now time.Time, ts []reflector.Transition) panel {
	p := panel{Title: "Transitions", Wide: true, Heads: heads("At (UTC)", "#Ago", "Phase", "Because"), None: "None yet."}
	for k := len(ts) - 1; k >= 0; k-- { // the newest first
		t := &ts[k]
		why := ""
		if t.Err != nil {
			why = describe(t.Err, e.status)
		}
		p.Rows = append(p.Rows, []cell{
			mono(t.At.UTC().Format("15:04:05.000")), number(since(now, t.At)),
			text(phase(t.From) + " → " + phase(t.To)), text(why),
		})
	}
	return p
}

func indexes(all []status.Index) panel {
	p := panel{Title: "Indexes", Wide: true, Heads: heads("Name", "#Values", "#Entries", "#Bytes", "Largest value", "#Objects"), None: "There is none."}
	for k := range all {
		i := &all[k]
		p.Rows = append(p.Rows, []cell{
			text(i.Name), count(i.Values), count(i.Entries), number(quantity.Bytes(i.Bytes)), mono(trouble.OneLine(i.Largest)), count(i.LargestObjects),
		})
	}
	return p
}

func memory(now time.Time, m *status.Memory) []panel {
	if m.Sampled == 0 {
		return nil
	}
	sum := panel{Title: "Memory"}
	sum.pair("objects, about", quantity.Bytes(m.Objects))
	sum.pair("keys", quantity.Bytes(m.Keys))
	sum.pair("from a sample of", quantity.Of(int64(m.Sampled), "object")+", "+since(now, m.At)+" ago")
	return []panel{sum, sized("Largest objects of the sample", "Object", m.LargestObjects, store.Key.String),
		sized("Largest namespaces of the sample", "Namespace", m.LargestNamespaces, func(k store.Key) string { return k.Namespace })}
}

func sized(title, what string, all []status.Sized, name func(store.Key) string) panel {
	p := panel{Title: title, Heads: heads(what, "#Bytes"), None: "There is none."}
	for _, s := range all[:min(len(all), 20)] {
		p.Rows = append(p.Rows, []cell{mono(name(s.Key)), number(quantity.Bytes(s.Bytes))})
	}
	return p
}

func (e *entry) quarantine(now time.Time, all []status.Quarantined) panel {
	p := panel{Title: "Quarantine", Wide: true, Heads: heads("Key", "Stage", "#For", "Reads have", "Because")}
	for k := range all[:min(len(all), 100)] {
		x := &all[k]
		has := "nothing"
		if x.Stale {
			has = "an older version"
		}
		why := x.Err
		if e.status.Resource.Resource == "secrets" {
			why = "not shown for Secrets"
		}
		p.Rows = append(p.Rows, []cell{mono(x.Key.String()), text(x.Stage.String()), number(since(now, x.Since)), text(has), text(trouble.OneLine(why))})
	}
	return p
}

// maxKeys is how many keys are listed at once.
const maxKeys = 100

func (e *entry) objects(q query) panel {
	p := panel{Title: "Objects", Wide: true}
	at := func(key string) string {
		return q.with(func(q *query) { q.objects, q.key, q.paused = e.name, key, true }).url()
	}
	if q.objects != e.name {
		p.Links = []textLink{{"List objects", at("")}}
		return p
	}
	p.Links = []textLink{{"Hide objects", q.with(func(q *query) { q.objects, q.key = "", "" }).url()}}
	from := parseKey(q.key)
	if q.key != "" {
		if obj, found := e.source.Objects.Object(from); found {
			p.Pre = []string{shown(obj)}
		}
		p.Links = append(p.Links, textLink{"From the first", at("")})
	}
	keys := e.source.Objects.KeysFrom(from, maxKeys)
	p.Heads = heads("Key")
	for _, k := range keys {
		name := k.String()
		p.Rows = append(p.Rows, []cell{{Text: name, Class: "mono", URL: at(name)}})
	}
	if len(keys) == maxKeys {
		p.Links = append(p.Links, textLink{"On from " + keys[maxKeys-1].String(), at(keys[maxKeys-1].String())})
	}
	p.None = "There is none."
	return p
}

func shown(obj any) string {
	b, err := json.MarshalIndent(obj, "", "  ")
	if err != nil {
		return "it cannot be shown as JSON"
	}
	return string(b)
}

// parseKey reads what Key.String writes.
func parseKey(s string) store.Key {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return store.Key{Namespace: namespace, Name: name}
	}
	return store.Key{Name: s}
}
