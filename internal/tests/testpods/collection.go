package testpods

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

const (
	// firstVersion gives all resource versions nine digits, so that they
	// compare as strings, up to 800 million events.
	firstVersion = 100_000_000
	// podsPerNode is what a node of moderate size runs.
	podsPerNode = 40
)

// Options describe a collection. The zero value of a field means its default.
type Options struct {
	// Pods is the number of pods; 50,000 by default.
	Pods int
	// Templates is the number of templates; 500 by default, at most one a pod.
	Templates int
	// Namespaces is the number of namespaces; 50 by default, at most one a template.
	Namespaces int
	// Unique makes every pod different from all others in all its content: see unlike.
	Unique bool
}

func (o Options) withDefaults() Options {
	o.Pods = cmp.Or(o.Pods, 50_000)
	o.Templates = min(cmp.Or(o.Templates, 500), o.Pods)
	o.Namespaces = min(cmp.Or(o.Namespaces, 50), o.Templates)
	return o
}

// Collection is a number of pods, in key order, and their history. It is
// immutable, and safe for concurrent use.
type Collection struct {
	opts  Options
	nodes int
	// order is the order in which a round changes the pods; turn is the
	// inverse: which turn a pod has.
	order, turn []int32
}

// NewCollection returns the collection that opts describe.
func NewCollection(opts Options) *Collection {
	opts = opts.withDefaults()
	c := &Collection{opts: opts, nodes: (opts.Pods + podsPerNode - 1) / podsPerNode}
	c.order, c.turn = make([]int32, opts.Pods), make([]int32, opts.Pods)
	for i := range c.order {
		c.order[i] = int32(i)
	}
	rnd := rand.New(rand.NewPCG(0, 1))
	rnd.Shuffle(len(c.order), func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
	for t, i := range c.order {
		c.turn[i] = int32(t)
	}
	return c
}

// Len returns the number of pods.
func (c *Collection) Len() int { return c.opts.Pods }

// Event says which pod event number e changes, and to which round. Events are
// numbered from 0; each round has Len of them.
func (c *Collection) Event(e int) (i, round int) {
	return int(c.order[e%c.opts.Pods]), e/c.opts.Pods + 1
}

// RoundAfter returns the round that pod i is in after the first n events.
func (c *Collection) RoundAfter(n, i int) int {
	round := n / c.opts.Pods
	if int(c.turn[i]) < n%c.opts.Pods {
		round++
	}
	return round
}

// VersionAfter returns the resource version of the collection after the first
// n events.
func (c *Collection) VersionAfter(n int) string {
	return strconv.Itoa(firstVersion + c.opts.Pods + n)
}

// EventsUntil returns the number of events after which VersionAfter is version.
func (c *Collection) EventsUntil(version string) (int, error) {
	v, err := strconv.Atoi(version)
	if err != nil || v < firstVersion+c.opts.Pods {
		return 0, fmt.Errorf("testpods: %q is no version of this collection", version)
	}
	return v - firstVersion - c.opts.Pods, nil
}

// version returns the resource version of pod i in a round.
func (c *Collection) version(i, round int) string {
	return strconv.Itoa(firstVersion + round*c.opts.Pods + int(c.turn[i]) + 1)
}

// Namespaces returns the names of the namespaces, in order.
func (c *Collection) Namespaces() []string {
	names := make([]string, c.opts.Namespaces)
	for n := range names {
		names[n] = namespaceName(n)
	}
	return names
}

// In returns the range [from, to) of the pods of a namespace: all if namespace is empty,
// none if there is no such namespace.
func (c *Collection) In(namespace string) (from, to int) {
	if namespace == "" {
		return 0, c.opts.Pods
	}
	number := slices.Index(c.Namespaces(), namespace)
	if number < 0 {
		return 0, 0
	}
	return c.firstIn(number), c.firstIn(number + 1)
}

// firstIn returns the first pod of a namespace, by its number.
func (c *Collection) firstIn(number int) int {
	o := &c.opts
	// The first template of the namespace, and its first pod.
	template := (number*o.Templates + o.Namespaces - 1) / o.Namespaces
	return (template*o.Pods + o.Templates - 1) / o.Templates
}

// templateOf returns the template of pod i, and which of its pods i is.
func (c *Collection) templateOf(i int) (template, of int) {
	n, t := c.opts.Pods, c.opts.Templates
	template = i * t / n
	first := (template*n + t - 1) / t
	return template, i - first
}

// draw returns the random numbers of one thing, which depend on nothing else.
func (c *Collection) draw(what kindOfDraw, number, round int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(what)<<56^uint64(round)<<32, uint64(number)))
}

type kindOfDraw uint8

const (
	drawTemplate kindOfDraw = iota + 1
	drawPod
	drawRestart
	drawUnlike
)
