package nodes

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// statusInterval is the time between two reports of a node's status that has
// not changed, a kubelet's default.
const statusInterval = 5 * time.Minute

// pulse is what is remembered of one node's heartbeat.
type pulse struct {
	lease  *coordinationv1.Lease // as last written; nil if unknown
	status time.Time             // of the last report
}

// heartbeat renews the leases of every shards-th node until ctx ends, spread
// evenly over the interval.
func (s *Simulator) heartbeat(ctx context.Context, shard, shards int) {
	pulses := map[int]*pulse{}
	for n := shard; n < s.opts.Nodes; n += shards {
		pulses[n] = &pulse{status: time.Now()}
	}
	gap := s.opts.LeaseInterval / time.Duration(len(pulses))
	for {
		for n := shard; n < s.opts.Nodes; n += shards {
			began := time.Now()
			if err := s.beat(ctx, n, pulses[n]); err != nil && ctx.Err() == nil {
				s.opts.OnError(fmt.Errorf("nodes: heartbeat of %s: %w", NodeName(n), err))
			}
			if !pause(ctx, gap-time.Since(began)) {
				return
			}
		}
	}
}

// beat renews the lease of node n and reports its status when it is time. A
// node that has been deleted has no heartbeat.
func (s *Simulator) beat(ctx context.Context, n int, p *pulse) error {
	obj, exists, err := s.nodes.GetStore().GetByKey(NodeName(n))
	if err != nil || !exists {
		return err
	}
	node := obj.(*corev1.Node)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := s.renew(ctx, node, p); err != nil {
		return err
	}
	if time.Since(p.status) < statusInterval {
		return nil
	}
	p.status = time.Now()
	if err := s.report(ctx, node); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// renew writes the lease over the last known one, and looks it up only when
// that is not the latest.
func (s *Simulator) renew(ctx context.Context, node *corev1.Node, p *pulse) error {
	client := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if p.lease != nil {
		lease, err := client.Update(ctx, renewed(p.lease, node, s.opts.LeaseInterval, time.Now()), metav1.UpdateOptions{})
		if err == nil {
			p.lease = lease
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	lease, err := client.Create(ctx, renewed(nil, node, s.opts.LeaseInterval, time.Now()), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if lease, err = client.Get(ctx, node.Name, metav1.GetOptions{}); err == nil {
			lease, err = client.Update(ctx, renewed(lease, node, s.opts.LeaseInterval, time.Now()), metav1.UpdateOptions{})
		}
	}
	if err == nil {
		p.lease = lease
	}
	return err
}

// renewed returns lease renewed at now, or a new one of node's if it is nil.
// lease itself is not modified.
func renewed(lease *coordinationv1.Lease, node *corev1.Node, interval time.Duration, now time.Time) *coordinationv1.Lease {
	if lease != nil {
		lease = lease.DeepCopy()
	} else {
		lease = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, Namespace: corev1.NamespaceNodeLease},
		}
	}
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	lease.Spec.HolderIdentity = ptr.To(node.Name)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32((4*interval + time.Second - 1) / time.Second))
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	return lease
}
