package nodes

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// requestTimeout bounds one write; what fails is tried again.
const requestTimeout = 10 * time.Second

// A Simulator plays the kubelets of a number of nodes.
type Simulator struct {
	client     kubernetes.Interface
	opts       Options
	number     map[string]int // of a node, by name
	addresses  *addressPool
	registered chan struct{}
	queue      workqueue.TypedRateLimitingInterface[item]
	pods       cache.SharedIndexInformer
	nodes      cache.SharedIndexInformer
}

// item is a pod to look at, or a node if it has no namespace.
type item struct{ namespace, name string }

// New returns a simulator that writes through client. It starts nothing. The
// client should have no rate limit of its own.
func New(client kubernetes.Interface, opts Options) (*Simulator, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Simulator{
		client:     client,
		opts:       opts.withDefaults(),
		number:     map[string]int{},
		addresses:  newAddressPool(),
		registered: make(chan struct{}),
	}
	for n := range s.opts.Nodes {
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

	if !s.register(ctx) {
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
	for range s.opts.Workers {
		running.Go(func() { s.work(ctx) })
	}
	shards := min(4, s.opts.Nodes)
	for shard := range shards {
		running.Go(func() { s.heartbeat(ctx, shard, shards) })
	}
	<-ctx.Done()
	return nil
}

// watch sets up the informers.
func (s *Simulator) watch() error {
	bound := func(opts *metav1.ListOptions) {
		opts.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}
	s.pods = coreinformers.NewFilteredPodInformer(s.client, metav1.NamespaceAll, 0, cache.Indexers{}, bound)
	s.nodes = coreinformers.NewNodeInformer(s.client, 0, cache.Indexers{})
	for _, informer := range []cache.SharedIndexInformer{s.pods, s.nodes} {
		// A status is written without them: the server keeps its own.
		if err := informer.SetTransform(withoutManagedFields); err != nil {
			return err
		}
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			s.opts.OnError(fmt.Errorf("nodes: watch: %w", err))
		}); err != nil {
			return err
		}
	}
	if _, err := s.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.enqueuePod(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { s.enqueuePod(obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				s.enqueuePod(pod)
			}
		},
	}); err != nil {
		return err
	}
	_, err := s.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.enqueueNode(obj.(*corev1.Node)) },
		UpdateFunc: func(_, obj any) { s.enqueueNode(obj.(*corev1.Node)) },
	})
	return err
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

func (s *Simulator) claim(pod *corev1.Pod) {
	if addr, err := netip.ParseAddr(pod.Status.PodIP); err == nil && !pod.Spec.HostNetwork {
		s.addresses.claim(item{pod.Namespace, pod.Name}, pod.UID, addr)
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
			s.opts.OnError(err)
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
	return s.report(ctx, obj.(*corev1.Node))
}

// report writes the status of a node.
func (s *Simulator) report(ctx context.Context, node *corev1.Node) error {
	node = node.DeepCopy()
	node.Status = nodeStatus(s.number[node.Name], node.Status, time.Now())
	_, err := s.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func (s *Simulator) handlePod(ctx context.Context, it item) error {
	obj, exists, err := s.pods.GetStore().GetByKey(it.namespace + "/" + it.name)
	if err != nil {
		return err
	}
	if !exists {
		// Here and not in the handler: for one pod, items are worked off one
		// after the other.
		s.addresses.release(it)
		return nil
	}
	pod := obj.(*corev1.Pod)
	n := s.number[pod.Spec.NodeName]
	addr := nodeAddress(n)
	if !pod.Spec.HostNetwork {
		if addr, err = s.addresses.acquire(it, pod.UID, n); err != nil {
			return fmt.Errorf("nodes: pod %s/%s on %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	do := next(pod, nodeAddress(n), addr, s.opts.JobDuration, time.Now())
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
