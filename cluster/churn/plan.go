package churn

import (
	"fmt"
	"math/rand/v2"
)

// An operation is one change of one deployment.
type operation struct {
	kind     kind
	slot     int // whose deployment
	name     string
	replicas int // create and scale
	revision int // create and roll: of the pod template
}

type kind int

const (
	create kind = iota
	roll
	scale
	deletePod
	deleteDeployment
)

func (k kind) String() string {
	return [...]string{"create", "roll", "scale", "delete a pod of", "delete"}[k]
}

// weights says how often each kind happens among 100 operations on a deployment
// that exists. Rolling moves the most objects and deleting a deployment tells
// watchers the most at once.
var weights = [...]struct {
	kind   kind
	weight int
}{{roll, 40}, {scale, 30}, {deletePod, 20}, {deleteDeployment, 10}}

// A plan decides which operation is next. It has as many slots as there are to
// be deployments; a slot is empty between deletion and creation.
type plan struct {
	random   *rand.Rand
	replicas int // on average
	slots    []slot
	created  int // names given out
}

type slot struct {
	name     string // of the deployment, "" if there is none
	replicas int
	revision int
}

func newPlan(deployments, replicas int) *plan {
	return &plan{random: rand.New(rand.NewPCG(0, 0)), replicas: replicas, slots: make([]slot, deployments)}
}

// missing returns the creation of a deployment that is not there, or false if
// all are.
func (p *plan) missing() (operation, bool) {
	for i, s := range p.slots {
		if s.name == "" {
			return p.create(i), true
		}
	}
	return operation{}, false
}

// next returns the next operation, or false if there is nothing to operate on.
func (p *plan) next() (operation, bool) {
	if len(p.slots) == 0 {
		return operation{}, false
	}
	i := p.random.IntN(len(p.slots))
	s := p.slots[i]
	if s.name == "" {
		return p.create(i), true
	}
	op := operation{slot: i, name: s.name, replicas: s.replicas, revision: s.revision}
	dice := p.random.IntN(100)
	for _, w := range weights {
		if dice < w.weight {
			op.kind = w.kind
			break
		}
		dice -= w.weight
	}
	switch op.kind {
	case roll:
		op.revision++
	case scale:
		op.replicas = p.otherReplicas(s.replicas)
	}
	return op, true
}

// nameFormat has the slot and a number that no other deployment of it had.
const nameFormat = "app-%d-%d"

func (p *plan) create(slot int) operation {
	return operation{
		kind:     create,
		slot:     slot,
		name:     fmt.Sprintf(nameFormat, slot, p.created),
		replicas: p.replicas,
		revision: 1,
	}
}

// otherReplicas returns a number within half and one and a half of the average
// that is not now.
func (p *plan) otherReplicas(now int) int {
	low, high := (p.replicas+1)/2, p.replicas+p.replicas/2
	if low == high { // one replica on average: one or two
		high++
	}
	n := low + p.random.IntN(high-low) // of all but the highest
	if n == now {
		return high
	}
	return n
}

// done records that op has happened.
func (p *plan) done(op operation) {
	s := &p.slots[op.slot]
	switch op.kind {
	case create:
		p.created++
		*s = slot{name: op.name, replicas: op.replicas, revision: op.revision}
	case deleteDeployment:
		*s = slot{}
	default:
		s.replicas, s.revision = op.replicas, op.revision
	}
}

// found records that slot holds a deployment from before.
func (p *plan) found(i int, s slot) {
	if i < len(p.slots) && p.slots[i].name == "" {
		p.slots[i] = s
	}
	var number int
	if _, err := fmt.Sscanf(s.name, nameFormat, new(int), &number); err == nil {
		p.created = max(p.created, number+1)
	}
}

// lost records that the deployment of op is not there any more.
func (p *plan) lost(op operation) { p.slots[op.slot] = slot{} }
