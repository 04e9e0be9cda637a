package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const namespace = "stall"

// object is what all of this is about.
type object = *corev1.ConfigMap

// life is one key as it is now; UID is empty while there is no object.
type life struct {
	UID     types.UID
	Version int
}

// history makes events and remembers what is true. It is used by one goroutine
// at a time.
type history struct {
	rng     *rand.Rand
	names   []string
	lives   []life
	version int
	// died are the UIDs that were deleted.
	died map[types.UID]bool
	// start is the zero of sent, which says when each version was handed over.
	start time.Time
	sent  []time.Duration
}

// newHistory has so many keys, all alive, and room for so many events.
func newHistory(seed uint64, keys, events int) *history {
	h := &history{
		rng: rand.New(rand.NewPCG(seed, 0)), died: map[types.UID]bool{},
		start: time.Now(), sent: make([]time.Duration, keys+events+1),
	}
	for i := range keys {
		h.names = append(h.names, fmt.Sprintf("settings-%04d", i))
		h.lives = append(h.lives, life{})
		h.born(i)
	}
	return h
}

func (h *history) born(i int) {
	h.version++
	h.lives[i] = life{types.UID("uid-" + strconv.Itoa(h.version)), h.version}
}

// list is the present state.
func (h *history) list() []object {
	var all []object
	for i := range h.lives {
		if h.lives[i].UID != "" {
			all = append(all, h.object(i))
		}
	}
	return all
}

// object is the present state of a key, in fresh memory.
func (h *history) object(i int) object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: h.names[i],
		UID: h.lives[i].UID, ResourceVersion: strconv.Itoa(h.lives[i].Version),
	}}
}

// next makes the next event. The last of a series is a modification, which
// everybody has to hear of.
func (h *history) next(last bool) (watch.EventType, object) {
	i := h.rng.IntN(len(h.lives))
	for last && h.lives[i].UID == "" {
		i = (i + 1) % len(h.lives)
	}
	l := &h.lives[i]
	switch {
	case l.UID == "":
		h.born(i)
		return watch.Added, h.object(i)
	case !last && h.alive() > 1 && h.rng.IntN(50) == 0:
		h.version++
		l.Version = h.version
		gone := h.object(i)
		h.died[l.UID] = true
		*l = life{}
		return watch.Deleted, gone
	}
	h.version++
	l.Version = h.version
	return watch.Modified, h.object(i)
}

// alive is at least how many keys have an object.
func (h *history) alive() int {
	n := 0
	for i := range h.lives {
		if h.lives[i].UID != "" {
			if n++; n > 1 {
				break
			}
		}
	}
	return n
}

// handOver notes that versions from first on are handed over now.
func (h *history) handOver(first int) {
	now := time.Since(h.start)
	for v := first; v <= h.version; v++ {
		h.sent[v] = now
	}
}

// truth is the final state, by name.
func (h *history) truth() map[string]life {
	all := map[string]life{}
	for i := range h.lives {
		if h.lives[i].UID != "" {
			all[h.names[i]] = h.lives[i]
		}
	}
	return all
}
