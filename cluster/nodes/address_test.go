package nodes

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestNoTwoPodsShareAnAddress compares the pool with the list of who has what,
// through random operations on few pods and fewer addresses.
func TestNoTwoPodsShareAnAddress(t *testing.T) {
	random := newRand(t)
	pool := newAddressPool()
	type lease struct {
		uid  types.UID
		addr netip.Addr
	}
	held := map[item]lease{}
	holder := func(addr netip.Addr) (item, bool) {
		for it, l := range held {
			if l.addr == addr {
				return it, true
			}
		}
		return item{}, false
	}
	for range 20_000 {
		it := item{"ns", fmt.Sprintf("pod-%d", random.IntN(40))}
		uid := types.UID(fmt.Sprintf("%s-%d", it.name, random.IntN(3)))
		node := random.IntN(3)
		switch random.IntN(4) {
		case 0:
			pool.release(it)
			delete(held, it)
		case 1:
			addr := podAddress(node, 1+random.IntN(20))
			pool.claim(it, uid, addr)
			if _, taken := holder(addr); !taken {
				held[it] = lease{uid, addr}
			}
		default:
			addr, err := pool.acquire(it, uid, node)
			if err != nil {
				t.Fatal(err)
			}
			if have, ok := held[it]; ok && have.uid == uid {
				if addr != have.addr {
					t.Fatalf("%s (%s) had %s and got %s", it.name, uid, have.addr, addr)
				}
				continue
			}
			delete(held, it)
			if other, taken := holder(addr); taken {
				t.Fatalf("%s got %s, which %s has", it.name, addr, other.name)
			}
			if !podCIDR(node).Contains(addr) {
				t.Fatalf("%s is not of node %d", addr, node)
			}
			held[it] = lease{uid, addr}
		}
	}
	if len(pool.byPod) != len(held) || len(pool.taken) != len(held) {
		t.Errorf("the pool knows %d pods and %d addresses, want %d of each", len(pool.byPod), len(pool.taken), len(held))
	}
}

func TestANodeRunsOutOfAddressesAloneAndRecovers(t *testing.T) {
	pool := newAddressPool()
	pod := func(i int) (item, types.UID) {
		name := fmt.Sprintf("pod-%d", i)
		return item{"ns", name}, types.UID(name)
	}
	for i := range podsPerNode {
		it, uid := pod(i)
		if _, err := pool.acquire(it, uid, 0); err != nil {
			t.Fatalf("pod %d of %d: %v", i, podsPerNode, err)
		}
	}
	it, uid := pod(podsPerNode)
	if _, err := pool.acquire(it, uid, 0); !errors.Is(err, errNoAddress) {
		t.Errorf("one pod too many: got %v, want errNoAddress", err)
	}
	if _, err := pool.acquire(it, uid, 1); err != nil {
		t.Errorf("another node has no address: %v", err)
	}
	first, _ := pod(0)
	pool.release(first)
	if got, err := pool.acquire(item{"ns", "late"}, "late", 0); err != nil || got != podAddress(0, 1) {
		t.Errorf("got %v and %v, want the address that was released", got, err)
	}
}

func TestAddressesOfNodesDoNotOverlap(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, MaxNodes - 2} {
		if a, b := podCIDR(n), podCIDR(n+1); a.Overlaps(b) || a != a.Masked() {
			t.Errorf("%s of node %d and %s of the next", a, n, b)
		}
		if nodeAddress(n) == nodeAddress(n+1) {
			t.Errorf("nodes %d and %d are both %s", n, n+1, nodeAddress(n))
		}
	}
	if last := podCIDR(MaxNodes - 1); !netip.MustParsePrefix("10.0.0.0/8").Overlaps(last) {
		t.Errorf("the last node has %s, outside of the plan", last)
	}
}
