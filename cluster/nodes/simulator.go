package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

const (
	// MaxNodes is how many nodes may have addresses of their own.
	MaxNodes = 1 << 14
	// workers is how many pods are written at the same time.
	workers = 8
	// requestTimeout bounds one write; what fails is tried again.
	requestTimeout = 10 * time.Second
	// registerRetry is the pause after a registration that failed, most often
	// because the API server is not there yet.
	registerRetry = 200 * time.Millisecond
	// leaseInterval is the time between two renewals of a node's lease, as a kubelet
	// does it; the lease lasts four times as long.
	leaseInterval = 10 * time.Second
	// jobDuration is how long a pod runs whose restart policy is not Always, before
	// it succeeds.
	jobDuration = time.Second
)

// A Simulator plays the kubelets of a number of nodes.
type Simulator struct {
	client     kubernetes.Interface
	onError    func(error)
	number     map[string]int // of a node, by name
	addresses  atomic.Uint32  // given to pods
	registered chan struct{}
	queue      workqueue.TypedRateLimitingInterface[item]
	pods       cache.SharedIndexInformer
	nodes      cache.SharedIndexInformer
}

// item is a pod to look at, or a node if it has no namespace.
type item struct{ namespace, name string }

// New returns a simulator of so many nodes, node-0, node-1 and so on, that writes through
// client. It starts nothing. The client should have no rate limit of its own. onError is
// called from the simulator's goroutines with what could not be written, which is tried
// again.
func New(client kubernetes.Interface, nodes int, onError func(error)) (*Simulator, error) {
	if nodes < 1 || nodes > MaxNodes {
		return nil, fmt.Errorf("nodes: %d nodes, must be within 1 and %d", nodes, MaxNodes)
	}
	s := &Simulator{client: client, onError: onError, number: map[string]int{}, registered: make(chan struct{})}
	for n := range nodes {
		s.number[NodeName(n)] = n
	}
	return s, nil
}

// Registered is closed when every node has been registered.
func (s *Simulator) Registered() <-chan struct{} { return s.registered }

// Run registers the nodes and plays them until ctx ends. It returns nil after
// all of its goroutines have ended; the nodes and their pods stay in the
// cluster, where they are found again by the next Run of a new Simulator. Run
// may be called once.
func (s *Simulator) Run(ctx context.Context) error {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[item](50*time.Millisecond, 5*time.Second)
	s.queue = workqueue.NewTypedRateLimitingQueue(limiter)
	var running sync.WaitGroup
	defer running.Wait()
	defer s.queue.ShutDown()

	workqueue.ParallelizeUntil(ctx, workers, len(s.number), func(n int) { s.register(ctx, n) })
	if ctx.Err() != nil {
		return nil
	}
	close(s.registered)
	if err := s.watch(); err != nil {
		return err
	}
	running.Go(func() { s.nodes.RunWithContext(ctx) })
	running.Go(func() { s.pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), s.nodes.HasSynced, s.pods.HasSynced) {
		return nil
	}
	// Addresses in use are known before the first is handed out.
	for _, obj := range s.pods.GetStore().List() {
		s.claim(obj.(*corev1.Pod))
	}
	for range workers {
		running.Go(func() { s.work(ctx) })
	}
	shards := min(4, len(s.number))
	for shard := range shards {
		running.Go(func() { s.heartbeat(ctx, shard, shards) })
	}
	<-ctx.Done()
	return nil
}

// register creates node n, unless it exists from an earlier run: see enqueueNode.
func (s *Simulator) register(ctx context.Context, n int) {
	for {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		_, err := s.client.CoreV1().Nodes().Create(attempt, newNode(n, time.Now()), metav1.CreateOptions{})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) || ctx.Err() != nil {
			return
		}
		s.onError(fmt.Errorf("nodes: register %s: %w", NodeName(n), err))
		pause(ctx, registerRetry)
	}
}

// pause waits for d, and returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch sets up the informers.
func (s *Simulator) watch() error {
	bound := func(opts *metav1.ListOptions) {
		opts.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}
	s.pods = coreinformers.NewFilteredPodInformer(s.client, metav1.NamespaceAll, 0, cache.Indexers{}, bound)
	s.nodes = coreinformers.NewNodeInformer(s.client, 0, cache.Indexers{})
	var errs []error
	for _, informer := range []cache.SharedIndexInformer{s.pods, s.nodes} {
		errs = append(errs,
			// A status is written without them: the server keeps its own.
			informer.SetTransform(withoutManagedFields),
			informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
				s.onError(fmt.Errorf("nodes: watch: %w", err))
			}))
	}
	_, err := s.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.enqueuePod(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { s.enqueuePod(obj.(*corev1.Pod)) },
	})
	errs = append(errs, err)
	_, err = s.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.enqueueNode(obj.(*corev1.Node)) },
		UpdateFunc: func(_, obj any) { s.enqueueNode(obj.(*corev1.Node)) },
	})
	return errors.Join(append(errs, err)...)
}

func withoutManagedFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

func (s *Simulator) enqueuePod(pod *corev1.Pod) {
	if _, ours := s.number[pod.Spec.NodeName]; ours {
		s.queue.Add(item{pod.Namespace, pod.Name})
	}
}

// enqueueNode has a node looked at that the cluster has given up, because it
// was silent or the simulator was not there.
func (s *Simulator) enqueueNode(node *corev1.Node) {
	if _, ours := s.number[node.Name]; ours && !nodeReady(node) {
		s.queue.Add(item{name: node.Name})
	}
}

func (s *Simulator) work(ctx context.Context) {
	for {
		it, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		err := s.handle(ctx, it)
		switch {
		case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
			// What the server knows better is on its way here and will be
			// looked at then.
			s.queue.Forget(it)
		case ctx.Err() == nil:
			s.onError(err)
			s.queue.AddRateLimited(it)
		}
		s.queue.Done(it)
	}
}

func (s *Simulator) handle(ctx context.Context, it item) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if it.namespace == "" {
		return s.handleNode(ctx, it.name)
	}
	return s.handlePod(ctx, it)
}

// handleNode tells the cluster that a node which it has given up is alive.
func (s *Simulator) handleNode(ctx context.Context, name string) error {
	obj, exists, err := s.nodes.GetStore().GetByKey(name)
	if err != nil || !exists || nodeReady(obj.(*corev1.Node)) {
		return err
	}
	node := obj.(*corev1.Node).DeepCopy()
	node.Status = nodeStatus(s.number[name], time.Now())
	_, err = s.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func (s *Simulator) handlePod(ctx context.Context, it item) error {
	obj, exists, err := s.pods.GetStore().GetByKey(it.namespace + "/" + it.name)
	if err != nil || !exists {
		return err
	}
	pod := obj.(*corev1.Pod)
	host := nodeAddress(s.number[pod.Spec.NodeName])
	addr := host
	if !pod.Spec.HostNetwork && pod.Status.PodIP == "" {
		addr = podAddress(s.addresses.Add(1))
	}
	do := next(pod, host, addr, time.Now())
	client := s.client.CoreV1().Pods(pod.Namespace)
	switch {
	case do.status != nil:
		pod = pod.DeepCopy()
		pod.Status = *do.status
		_, err = client.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	case do.remove:
		err = client.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0),
			Preconditions:      &metav1.Preconditions{UID: &pod.UID},
		})
	case do.after > 0:
		s.queue.AddAfter(it, do.after)
	}
	return err
}

// The address plan: node n is 192.168.(n/256).(n%256), and the nth pod is number n of
// 10.0.0.0/8. After 16 million pods addresses are handed out again, used or not.
func nodeAddress(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 168, byte(n >> 8), byte(n)})
}

func podAddress(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// claim keeps the address of a pod of an earlier run, and those before it, from being
// handed out.
func (s *Simulator) claim(pod *corev1.Pod) {
	if addr, err := netip.ParseAddr(pod.Status.PodIP); err == nil && addr.Is4() && !pod.Spec.HostNetwork {
		ip := addr.As4()
		s.addresses.Store(max(s.addresses.Load(), uint32(ip[1])<<16|uint32(ip[2])<<8|uint32(ip[3])))
	}
}

// heartbeat renews the leases of every shards-th node until ctx ends, spread
// evenly over the interval.
func (s *Simulator) heartbeat(ctx context.Context, shard, shards int) {
	gap := leaseInterval / time.Duration((len(s.number)-shard+shards-1)/shards)
	for {
		for n := shard; n < len(s.number); n += shards {
			began := time.Now()
			if err := s.renew(ctx, NodeName(n)); err != nil && ctx.Err() == nil {
				s.onError(fmt.Errorf("nodes: heartbeat of %s: %w", NodeName(n), err))
			}
			if !pause(ctx, gap-time.Since(began)) {
				return
			}
		}
	}
}

// renew renews a node's lease, or creates it. A node that has been deleted has no
// heartbeat.
func (s *Simulator) renew(ctx context.Context, name string) error {
	obj, exists, err := s.nodes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client, now := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease), metav1.NowMicro()
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))
	if _, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	_, err = client.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: obj.(*corev1.Node).UID}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &name, LeaseDurationSeconds: ptr.To(int32(4 * leaseInterval / time.Second)), RenewTime: &now,
		},
	}, metav1.CreateOptions{})
	return err
}
