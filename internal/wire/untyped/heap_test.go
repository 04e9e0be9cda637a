package untyped

import (
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// alive returns the bytes alive after a collection.
func alive() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAPodOfAKnownTemplateTakesASixthOfTheOfficialHeap(t *testing.T) {
	const n, templates = 600, 6
	pods := newPods(t, templates)
	all := make([]*pod, templates)
	for i := range all {
		all[i] = pods.pod(i)
	}
	each := func(visit func(i int, raw []byte)) int {
		before := alive()
		for i := range n {
			all[i%templates].become(i)
			visit(i, all[i%templates].raw)
		}
		return (alive() - before) / n
	}

	theirs := make([]map[string]any, n)
	official := each(func(i int, raw []byte) {
		if err := json.Unmarshal(raw, &theirs[i]); err != nil {
			t.Fatal(err)
		}
	})
	runtime.KeepAlive(theirs)

	ours := make([]Result, n)
	plan, session := compile(t), share.NewSession(share.NewTable(0))
	kinglet := each(func(i int, raw []byte) {
		var err error
		if ours[i], _, err = plan.Decode(session, raw, share.Version{}); err != nil {
			t.Fatal(err)
		}
	})
	later := each(func(i int, raw []byte) {
		all[i%templates].restart(i)
		var err error
		if ours[i], _, err = plan.Decode(session, raw, ours[i].held()); err != nil {
			t.Fatal(err)
		}
	})
	memos := 0
	for i := range ours {
		memos += ours[i].Memo.Bytes()
	}
	t.Logf("%d bytes a pod, then %d more, of them %d of memos; official: %d; table %+v", kinglet, later, memos/n, official, session.Table.Stats())
	if 6*kinglet > official {
		t.Fatal("more than a sixth")
	}
}
