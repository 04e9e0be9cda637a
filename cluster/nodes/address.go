package nodes

import (
	"errors"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// The address plan: node n is 192.168.(n/256).(n%256) and its pods live in the
// n-th /22 of 10.0.0.0/8, so that no two nodes and no two pods share one.
const podsPerNode = 1<<10 - 2 // a /22 without its first and last address

func nodeAddress(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 168, byte(n >> 8), byte(n)})
}

func podCIDR(n int) netip.Prefix { return netip.PrefixFrom(podAddress(n, 0), 22) }

func podAddress(n, host int) netip.Addr {
	ip := n<<10 + host
	return netip.AddrFrom4([4]byte{10, byte(ip >> 16), byte(ip >> 8), byte(ip)})
}

// errNoAddress means that a node's range is used up.
var errNoAddress = errors.New("nodes: no free pod address on the node")

// addressPool hands out the pod addresses of all nodes. A pod keeps its address
// until it is released, across restarts of the simulator as well: what stands
// in a pod's status is claimed before anything is handed out.
type addressPool struct {
	mu    sync.Mutex
	byPod map[item]tenancy    // guarded by mu
	taken map[netip.Addr]item // guarded by mu. Invariant: the inverse of byPod
	next  map[int]int         // guarded by mu: where to look on a node, so that addresses rest before reuse
}

// tenancy is an address and the pod that has it: a later pod of the same name
// is another one.
type tenancy struct {
	uid  types.UID
	addr netip.Addr
}

func newAddressPool() *addressPool {
	return &addressPool{
		byPod: map[item]tenancy{},
		taken: map[netip.Addr]item{},
		next:  map[int]int{},
	}
}

// claim records that pod has addr already. It is ignored if another pod does.
func (p *addressPool) claim(pod item, uid types.UID, addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.taken[addr]; taken {
		return
	}
	p.releaseLocked(pod)
	p.byPod[pod], p.taken[addr] = tenancy{uid, addr}, pod
}

// acquire returns pod's address on node n.
func (p *addressPool) acquire(pod item, uid types.UID, n int) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, has := p.byPod[pod]; has && have.uid == uid {
		return have.addr, nil
	}
	p.releaseLocked(pod)
	for i := range podsPerNode {
		host := (p.next[n]+i)%podsPerNode + 1
		addr := podAddress(n, host)
		if _, taken := p.taken[addr]; !taken {
			p.byPod[pod], p.taken[addr] = tenancy{uid, addr}, pod
			p.next[n] = host % podsPerNode
			return addr, nil
		}
	}
	return netip.Addr{}, errNoAddress
}

func (p *addressPool) release(pod item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLocked(pod)
}

func (p *addressPool) releaseLocked(pod item) {
	if have, has := p.byPod[pod]; has {
		delete(p.byPod, pod)
		delete(p.taken, have.addr)
	}
}
