package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// fakeCluster is client-go's fake and the simulator that runs against it.
type fakeCluster struct {
	*fake.Clientset
	simulator *Simulator
	// refuse is asked before every update. (The fake's own reactors cannot be
	// changed while it is in use.)
	refuse atomic.Pointer[func(clienttesting.Action) error]
}

// simulate runs a simulator against a fake cluster, in a bubble whose time
// stands until everybody waits.
func simulate(t *testing.T, opts Options, test func(t *testing.T, ctx context.Context, c *fakeCluster), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCluster{Clientset: fake.NewClientset(objects...)}
		c.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if refuse := c.refuse.Load(); refuse != nil {
				if err := (*refuse)(action); err != nil {
					return true, nil, err
				}
			}
			return false, nil, nil
		})
		var err error
		if c.simulator, err = New(c, opts); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.simulator.Run(ctx) }()
		<-c.simulator.Registered()
		settle()
		test(t, ctx, c)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// settle lets what is to happen at once happen: a few milliseconds, since
// informers look at their queues in intervals.
func settle() {
	synctest.Wait()
	elapse(300 * time.Millisecond)
}

// elapse lets fake time pass.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func podOn(node int, name string, change func(*corev1.Pod)) *corev1.Pod {
	return boundPod(func(p *corev1.Pod) {
		p.Name, p.UID = name, types.UID("uid of "+name)
		p.Spec.NodeName = NodeName(node)
		if change != nil {
			change(p)
		}
	})
}

func getPod(t *testing.T, ctx context.Context, client *fakeCluster, name string) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods("ns").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestPodsBoundToTheNodesRun(t *testing.T) {
	simulate(t, Options{Nodes: 3}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		for i := range 30 {
			pod := podOn(i%3, fmt.Sprintf("pod-%d", i), nil)
			if _, err := client.CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		stranger := podOn(9, "stranger", nil)
		if _, err := client.CoreV1().Pods("ns").Create(ctx, stranger, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		addresses := map[string]bool{}
		for i := range 30 {
			pod := getPod(t, ctx, client, fmt.Sprintf("pod-%d", i))
			if pod.Status.Phase != corev1.PodRunning {
				t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			}
			addresses[pod.Status.PodIP] = true
		}
		if len(addresses) != 30 {
			t.Errorf("30 pods have %d addresses", len(addresses))
		}
		if pod := getPod(t, ctx, client, "stranger"); pod.Status.Phase != corev1.PodPending {
			t.Errorf("the pod of an unknown node is %s", pod.Status.Phase)
		}
	})
}

func TestAPodThatRanBeforeKeepsItsAddress(t *testing.T) {
	before := podOn(0, "before", nil)
	before.Status = runningStatus(before, nodeAddress(0), podAddress(0, 1), testTime)
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		if ip := getPod(t, ctx, client, "before").Status.PodIP; ip != podAddress(0, 1).String() {
			t.Errorf("it is at %s now", ip)
		}
		if ip := getPod(t, ctx, client, "after").Status.PodIP; ip == "" || ip == podAddress(0, 1).String() {
			t.Errorf("the new pod is at %q", ip)
		}
	}, before, podOn(0, "after", nil))
}

func TestDeletionsAreFinished(t *testing.T) {
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		pod := getPod(t, ctx, client, "pod")
		pod.DeletionTimestamp = ptr.To(metav1.Now())
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
		if _, err := client.CoreV1().Pods("ns").Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		var deleted clienttesting.DeleteActionImpl
		for _, action := range client.Actions() {
			if d, ok := action.(clienttesting.DeleteActionImpl); ok {
				deleted = d
			}
		}
		options := deleted.DeleteOptions
		if deleted.Name != "pod" || options.GracePeriodSeconds == nil || *options.GracePeriodSeconds != 0 || *options.Preconditions.UID != pod.UID {
			t.Errorf("got %+v", deleted)
		}
		if client.simulator.addresses.mu.Lock(); len(client.simulator.addresses.byPod) != 0 {
			t.Errorf("addresses are still taken: %v", client.simulator.addresses.byPod)
		}
		client.simulator.addresses.mu.Unlock()
	}, podOn(0, "pod", nil))
}

func TestJobsPodsSucceedAfterTheirTime(t *testing.T) {
	once := func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }
	simulate(t, Options{JobDuration: time.Minute}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		elapse(58 * time.Second)
		if phase := getPod(t, ctx, client, "job").Status.Phase; phase != corev1.PodRunning {
			t.Errorf("before its time it is %s", phase)
		}
		elapse(3 * time.Second)
		if phase := getPod(t, ctx, client, "job").Status.Phase; phase != corev1.PodSucceeded {
			t.Errorf("after its time it is %s", phase)
		}
	}, podOn(0, "job", once))
}

func TestEveryNodeRenewsItsLease(t *testing.T) {
	const interval = 10 * time.Second
	simulate(t, Options{Nodes: 9, LeaseInterval: interval}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		for range 5 {
			elapse(interval)
			for n := range 9 {
				lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, NodeName(n), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if age := time.Since(lease.Spec.RenewTime.Time); age > interval+time.Second {
					t.Errorf("the lease of %s was renewed %v ago", NodeName(n), age)
				}
			}
		}
	})
}

func TestALeaseThatIsDeletedOrChangedIsRenewedAllTheSame(t *testing.T) {
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		elapse(20 * time.Second)
		if err := leases.Delete(ctx, NodeName(0), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		elapse(11 * time.Second)
		if _, err := leases.Get(ctx, NodeName(0), metav1.GetOptions{}); err != nil {
			t.Errorf("after it was deleted: %v", err)
		}
		var once sync.Once
		refuse := func(clienttesting.Action) (err error) {
			once.Do(func() {
				err = apierrors.NewConflict(coordinationv1.Resource("leases"), NodeName(0), errors.New("changed"))
			})
			return err
		}
		client.refuse.Store(&refuse)
		elapse(11 * time.Second)
		lease, err := leases.Get(ctx, NodeName(0), metav1.GetOptions{})
		if err != nil || time.Since(lease.Spec.RenewTime.Time) > 10*time.Second {
			t.Errorf("after a conflict: %+v, %v", lease, err)
		}
	})
}

func TestANodeReportsItselfNowAndThen(t *testing.T) {
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		elapse(statusInterval + time.Minute)
		node, err := client.CoreV1().Nodes().Get(ctx, NodeName(0), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(node.Status.Conditions[0].LastHeartbeatTime.Time); age > statusInterval {
			t.Errorf("the last report is %v old", age)
		}
	})
}

func TestANodeThatWasGivenUpSaysThatItLives(t *testing.T) {
	silent := newNode(0, testTime)
	setNodeCondition(&silent.Status, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}, testTime)
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		// Once when it registers, and again whenever it happens.
		for range 2 {
			node, err := client.CoreV1().Nodes().Get(ctx, NodeName(0), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !nodeReady(node) {
				t.Errorf("it is not ready: %+v", node.Status.Conditions)
			}
			node.Status = silent.Status
			if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			settle()
		}
	}, silent)
}

func TestADeletedNodeIsSilent(t *testing.T) {
	simulate(t, Options{}, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		if err := client.CoreV1().Nodes().Delete(ctx, NodeName(0), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		client.ClearActions()
		elapse(time.Hour)
		for _, action := range client.Actions() {
			if action.GetVerb() != "watch" && action.GetVerb() != "list" {
				t.Errorf("it did %v", action)
			}
		}
	})
}

func TestWhatFailsIsReportedAndTriedAgain(t *testing.T) {
	away := errors.New("the server is away")
	var reported atomic.Int64
	opts := Options{OnError: func(err error) {
		if !errors.Is(err, away) {
			t.Errorf("reported %v", err)
		}
		reported.Add(1)
	}}
	simulate(t, opts, func(t *testing.T, ctx context.Context, client *fakeCluster) {
		refuse := func(clienttesting.Action) error { return away }
		client.refuse.Store(&refuse)
		if _, err := client.CoreV1().Pods("ns").Create(ctx, podOn(0, "pod", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		if reported.Load() == 0 {
			t.Error("nothing was reported")
		}
		client.refuse.Store(nil)
		elapse(11 * time.Second)
		if phase := getPod(t, ctx, client, "pod").Status.Phase; phase != corev1.PodRunning {
			t.Errorf("the pod is %s", phase)
		}
		lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, NodeName(0), metav1.GetOptions{})
		if err != nil || time.Since(lease.Spec.RenewTime.Time) > 11*time.Second {
			t.Errorf("the lease is %+v, %v", lease, err)
		}
	})
}

func TestRegistrationWaitsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var fails atomic.Bool
		fails.Store(true)
		client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return fails.Load(), nil, errors.New("the server is away")
		})
		s, err := New(client, Options{Nodes: 20})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		elapse(time.Minute)
		select {
		case <-s.Registered():
			t.Error("registered without a server")
		default:
		}
		fails.Store(false)
		<-s.Registered()
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 20 {
			t.Errorf("got %d nodes, %v", len(nodes.Items), err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestOptionsThatMakeNoSenseAreAllNamed(t *testing.T) {
	_, err := New(fake.NewClientset(), Options{Nodes: -1, Workers: -1, JobDuration: -1, LeaseInterval: -1})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("got %v, want four errors", err)
	}
}
